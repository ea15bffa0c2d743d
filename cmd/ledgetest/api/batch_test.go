package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

const large = 10_000 // elements, which one request may have

// described are patches of those devices.
func described(prefix string, n int) string {
	return ledgetest.Array(n, func(i int) string { return fmt.Sprintf(`"device":{"name":"%s-%d","description":"patched"}`, prefix, i) })
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostTaken is the most that the process took so far, in KiB; 0 where that is not known.
func mostTaken(p *ledgetest.Node) (kib int64) {
	p.TB.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	m := peak.FindSubmatch(status)
	if err != nil || m == nil {
		p.TB.Log("the peak of the memory is not known here")
		return 0
	}
	kib, _ = strconv.ParseInt(string(m[1]), 10, 64)
	return kib
}

// inWork is what the log, its queues and the overlays of the projections take at their bounds, in bytes.
const inWork = 96 << 20

// checkMemory holds that the process never took more than all bodies and what is in work, some slack, and what it maps of its files.
func checkMemory(p *ledgetest.Node) {
	p.TB.Helper()
	kib := mostTaken(p)
	const bodies = 128 << 20 // of each service
	bound := int64(bodies+inWork) * 5 / 4
	mapped, _ := filepath.Glob(filepath.Join(p.Dir, "*.db"))
	for _, path := range append(mapped, ledgetest.Binary) {
		if info, err := os.Stat(path); err == nil {
			bound += info.Size()
		}
	}
	p.TB.Logf("at most %d MiB resident, of %d", kib>>10, bound>>20)
	if kib<<10 > bound {
		p.TB.Errorf("at most %d MiB resident, want %d or less", kib>>10, bound>>20)
	}
}

// The default settings take 10,000 devices in one array, and as many patches.
func TestLargeBatch(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	url, before := p.Metadata+"/api/v2/device", ledgetest.DeviceCount(p)
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, p.Call(http.MethodPost, url, "application/json", ledgetest.Ordinary("cam", large)), large), http.StatusCreated)
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, p.Call(http.MethodPatch, url, "application/json", described("cam", large)), large), http.StatusOK)
	if got := ledgetest.DeviceCount(p); got != before+large {
		t.Errorf("%d devices, want %d", got, before+large)
	}
	for _, i := range []int{0, large / 2, large - 1} {
		a := p.Call(http.MethodGet, fmt.Sprintf("%s/name/cam-%d", url, i), "", "")
		if !strings.Contains(a.Body, `"description":"patched"`) {
			t.Errorf("device %d: %s", i, a.Body)
		}
	}
	checkMemory(p)
}

// Eight of them at the same time are answered in full or refused in full, with the cure, in bounded memory; what was
// answered survives a crash.
func TestLargeBatchesAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	before := ledgetest.DeviceCount(p)
	answers, errs := make([]ledgetest.Answer, 8), make([]error, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i], errs[i] = ledgetest.TryCall(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary(fmt.Sprint("cam-", i), large))
		})
	}
	all.Wait()
	taken := 0
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Errorf("batch %d: %v\n%s", i, errs[i], p.Log)
		case a.Status == http.StatusMultiStatus:
			ledgetest.AllAre(t, ledgetest.ItemsOf(t, a, large), http.StatusCreated)
			taken++
		case a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "too many request bodies are in memory"):
			t.Errorf("batch %d: got %d %.300s", i, a.Status, a.Body)
		}
	}
	t.Logf("%d of %d batches were taken", taken, len(answers))
	if taken == 0 {
		t.Error("none of the batches was taken")
	}
	checkMemory(p)
	p.Kill()
	if got := ledgetest.DeviceCount(ledgetest.Start(t, dir)); got != before+taken*large {
		t.Errorf("%d devices after a crash, want %d", got, before+taken*large)
	}
}

// Changes of one profile write the whole of it each time: the bytes of a request are bounded, and the elements after
// that are refused.
func TestLargeBatchOfOneProfile(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile",
		`[{"apiVersion":"v2","profile":{"name":"plc","deviceResources":[],"deviceCommands":[]}}]`, http.StatusCreated)
	url := p.Metadata + "/api/v2/deviceprofile/resource"
	a := p.Call(http.MethodPost, url, "application/json", ledgetest.Array(large, func(i int) string {
		return fmt.Sprintf(`"profileName":"plc","resource":{"name":"register-%d","attributes":{"register":%d},
			"properties":{"valueType":"Int32","readWrite":"RW","units":"C"}}`, i, i)
	}))
	added := 0
	for i, one := range ledgetest.ItemsOf(t, a, large) {
		switch {
		case one.StatusCode == http.StatusCreated && added == i:
			added++
		case one.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(one.Message, "send the rest in another request"):
			t.Fatalf("item %d: got %+v", i, one)
		}
	}
	if added < 100 || added == large {
		t.Errorf("%d resources were added", added)
	}
	var found struct {
		Profile struct{ DeviceResources []struct{ Name string } }
	}
	got := p.Call(http.MethodGet, p.Metadata+"/api/v2/deviceprofile/name/plc", "", "")
	if err := json.Unmarshal([]byte(got.Body), &found); err != nil || len(found.Profile.DeviceResources) != added {
		t.Errorf("the profile has %d resources, %v, want %d", len(found.Profile.DeviceResources), err, added)
	}
	p.PostJSON(http.MethodPost, url, fmt.Sprintf(`[{"apiVersion":"v2","profileName":"plc","resource":{"name":"register-%d",
		"properties":{"valueType":"Int32","readWrite":"RW"}}}]`, added), http.StatusCreated)
	same := ledgetest.Array(large, func(int) string { return `"profileName":"plc","resource":{"name":"register-0","isHidden":false}` })
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, p.Call(http.MethodPatch, url, "application/json", same), large), http.StatusOK)
	checkMemory(p)
}

// A batch of 10,000 takes few fsyncs of the log: one for each group of 1,000.
func TestLargeBatchSharesSyncs(t *testing.T) {
	trace, runner := ledgetest.MustTrace(t)
	p := ledgetest.LaunchUnder(t, runner, t.TempDir())
	if err := p.WaitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	from := time.Now()
	ledgetest.AllAre(t, ledgetest.ItemsOf(t, p.Call(http.MethodPost, p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary("cam", large)), large), http.StatusCreated)
	to := time.Now()
	ledgetest.KillTraced(t, p)
	syncs := countSyncs(t, trace, filepath.Join("LEDGE_EVENTS", "msgs"), from, to)
	t.Logf("%d fsyncs", syncs)
	if syncs < 1 || syncs > 20 {
		t.Errorf("%d fsyncs of the events, want 1 to 20", syncs)
	}
}

// countSyncs returns how many fsyncs of files in a folder a trace has between two times.
func countSyncs(tb testing.TB, trace, folder string, from, to time.Time) (n int) {
	tb.Helper()
	threads, _ := filepath.Glob(trace + ".*")
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			tb.Fatal(err)
		}
		for _, one := range strings.Split(string(text), "\n") {
			m := ledgetest.Line.FindStringSubmatch(one)
			if m == nil || m[2] != "fsync" && m[2] != "fdatasync" || !strings.Contains(m[3], folder) {
				continue
			}
			at, _ := strconv.ParseFloat(m[1], 64)
			if at >= float64(from.UnixMicro())/1e6 && at <= float64(to.UnixMicro())/1e6 {
				n++
			}
		}
	}
	return n
}
