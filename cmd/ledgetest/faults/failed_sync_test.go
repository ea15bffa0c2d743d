package faults

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestFailedSyncEndsTheProcess has one fsync of a block file of the real program fail, as a device does that loses what it
// was given: the next one would succeed. From then on nothing is acknowledged, the process ends and says why, and the next
// start has all that was acknowledged.
func TestFailedSyncEndsTheProcess(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("a failing fsync is made with strace: Debian's package strace is not installed")
	}
	const one, most = 20, 1000 // of a thread, which fails, and of requests
	dir := t.TempDir()
	block := filepath.Join(dir, "nats/jetstream/LEDGE/streams/LEDGE_EVENTS/msgs/1.blk")
	copied := filepath.Join(filepath.Dir(filepath.Dir(block)), "copy", filepath.Base(block))
	runs := func(when string) []string {
		return []string{strace, "-f", "-qqq", "-o", "/dev/null", "-P", block, "-P", copied, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=" + when}
	}
	runner := runs(strconv.Itoa(one))
	if out, err := exec.Command(runner[0], append(runner[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("a failing fsync is made with strace: tracing another process (ptrace) is not allowed here: %v: %s", err, out)
	}
	p := ledgetest.LaunchUnder(t, runner, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: ledgetest.Timeout}
	var acknowledged []string
	failed := false
	for i := range most {
		name := fmt.Sprint("d-", i)
		r, err := client.Post(p.Metadata+"/api/v2/device", "application/json", strings.NewReader("["+ledgetest.DeviceJSON(name)+"]"))
		if err != nil {
			failed = true
			break // the process has ended
		}
		var body strings.Builder
		_ = r.Write(&body)
		_ = r.Body.Close()
		added := strings.Contains(body.String(), `"statusCode":201`)
		if added && failed {
			t.Errorf("%s is acknowledged after a failed fsync", name)
		}
		if added {
			acknowledged = append(acknowledged, name)
		} else {
			failed = true
		}
	}
	if !failed {
		ledgetest.KillTraced(t, p)
		t.Fatalf("no fsync failed in %d requests\n%s", most, p.Log)
	}
	if code := p.Wait(); code != exit.Failure {
		t.Errorf("exit code %d, want %d", code, exit.Failure)
	}
	if _, ok := p.Log.Find("fsync failed"); !ok {
		t.Errorf("it does not say why:\n%s", p.Log)
	}
	p = ledgetest.LaunchUnder(t, runs("1+"), dir) // a disk that still does not take it
	if err := p.WaitReady(); err == nil {
		ledgetest.KillTraced(t, p)
		t.Fatal("it serves from what is only in memory")
	}
	if _, ok := p.Log.Find("cannot be made durable"); !ok {
		t.Errorf("it does not say why:\n%s", p.Log)
	}
	p = ledgetest.Start(t, dir)
	for _, name := range acknowledged {
		if !p.HasDevice(name) {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
}
