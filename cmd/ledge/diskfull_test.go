package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// TestRetentionFreesAFullDisk has readings refused on a full disk until a rule removes old ones, and with them the log's
// front: nobody else makes room, and nothing is started again. What cannot wait, changes and removals, is taken meanwhile.
func TestRetentionFreesAFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.New(t, 96<<10)
	dir := filepath.Join(disk, "data")
	d := mustOpenData(t, configOf(t, "--data-dir", dir, "--disk-reserve", "4MiB"))
	d.alternately(t, 160, 250<<10, "d")
	_ = d.close()
	p := ledgetest.Start(t, dir, "--disk-reserve", "4MiB", "--readings-retention", "*.*.* age=10s")
	f := &ledgetest.Fuller{Node: p, Readings: map[string]bool{}}
	var status int
	var body string
	ledgetest.Until(t, "a reading to be refused", func() bool { // the first may go while the disk is being filled
		ledgetest.FillDisk(t, filepath.Join(disk, "filler"), 12<<20)
		status, body = f.PostOne(1000)
		return status != http.StatusOK
	})
	ledgetest.Must(t, "a reading", http.StatusInsufficientStorage, status, body)
	ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusServiceUnavailable)
	ledgetest.MustHealth(p, t, p.Metadata, http.StatusOK)
	status, body = f.AddOne()
	ledgetest.Must(t, "a change", http.StatusCreated, status, body)
	ledgetest.Until(t, "readings to be taken again", func() bool { status, _ := f.PostOne(1000); return status == http.StatusOK })
	ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusOK)
	for _, want := range []string{`"rule":"*.*.* age=10s"`, `"removedEvents":160,"removedBytes":40960000`, `"reserveBytes":16777216`, `"payloads":{"count":0,"bytes":0,`} {
		ledgetest.Until(t, "metrics with "+want, func() bool { // there is room before the last is of age
			return strings.Contains(p.Call(http.MethodGet, p.Metadata+"/api/v2/metrics", "", "").Body, want)
		})
	}
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	ledgetest.Verify(t, dir)
}
