package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
	"ledge/store/disktest"
)

// fill writes a file until no more than so many bytes are left on its disk.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 4 << 10
	for free(t, path) >= left+page {
		n := (free(t, path) - left) / page * page
		if _, err := f.Write(make([]byte, min(n, 1<<20))); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func free(t *testing.T, path string) int64 {
	t.Helper()
	out, err := exec.Command("stat", "-f", "-c", "%a %S", filepath.Dir(path)).Output()
	var blocks, size int64
	if _, serr := fmt.Sscan(string(out), &blocks, &size); err != nil || serr != nil {
		t.Fatalf("stat -f: %q, %v, %v", out, err, serr)
	}
	return blocks * size
}

// fuller is a process on a small disk, with what it acknowledged.
type fuller struct {
	*process
	mu       sync.Mutex
	n        int
	devices  []string
	readings map[string]bool
	over     atomic.Bool // the process has given up, and ends
}

// call is that of the process, but for one that has given up: that ends, and to a test it says what a refusal says.
func (f *fuller) call(method, url, contentType, body string) answer {
	f.tb.Helper()
	a, err := tryCall(method, url, contentType, body)
	switch {
	case err == nil:
		return a
	case !f.gaveUp():
		f.tb.Fatalf("%s %s: %v\n%s", method, url, err, f.log)
	}
	f.over.Store(true)
	return answer{status: http.StatusServiceUnavailable, body: `[{"statusCode":503}]`}
}

// addOne adds a device and returns how that was answered.
func (f *fuller) addOne() (status int, body string) {
	f.mu.Lock()
	f.n++
	name := fmt.Sprint("device-", f.n)
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.metadata+"/api/v2/device", "application/json", "["+deviceJSON(name)+"]")
	status = statuses(a)[0]
	if status == http.StatusCreated {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.devices = append(f.devices, name)
	}
	return status, a.body
}

// postOne posts a reading of so many bytes in all.
func (f *fuller) postOne(bytes int) (status int, body string) {
	f.mu.Lock()
	f.n++
	value := fmt.Sprintf(`"%0*d"`, bytes-2, f.n)
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.deviceREST+"/api/v2/resource/sample-json/json", "application/json", `{"v":`+value+`}`)
	if a.status == http.StatusOK {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.readings[`{"v":`+value+`}`] = true
	}
	return a.status, a.body
}

// check holds that all that was acknowledged is there.
func (f *fuller) check(t *testing.T) {
	t.Helper()
	for _, name := range f.devices {
		if f.over.Load() {
			return
		}
		if a := f.call(http.MethodGet, f.metadata+"/api/v2/device/name/"+name, "", ""); a.status != http.StatusOK && !f.over.Load() {
			t.Errorf("%s was acknowledged: %d %s", name, a.status, a.body)
		}
	}
}

// checkStopped holds that of the stopped folder.
func (f *fuller) checkStopped(t *testing.T) {
	t.Helper()
	verify(t, f.dir)
	all := facts(t, f.dir)
	checkNotified(t, all)
	checkReadings(t, f.dir, all, f.readings)
}

// must holds that an answer is as wanted and, where it is a refusal, says what is wrong.
func must(t *testing.T, what string, want int, status int, body string) {
	t.Helper()
	if status != want || want == http.StatusInsufficientStorage && !strings.Contains(body, "disk is full") {
		t.Errorf("%s: %d %s, want %d", what, status, body, want)
	}
}

// mustHealth holds that a service says whether it is ready, and why not.
func (p *process) mustHealth(t *testing.T, url string, want int) {
	t.Helper()
	if a := p.call(http.MethodGet, url+"/api/v2/health", "", ""); a.status != want || want != http.StatusOK && !strings.Contains(a.body, "not ready: the disk is full") {
		t.Errorf("%s is %d %s, want %d", url, a.status, a.body, want)
	}
}

// TestRetentionFreesAFullDisk has readings refused on a full disk until a rule removes old ones, and with them the log's
// front: nobody else makes room, and nothing is started again. What cannot wait, changes and removals, is taken meanwhile.
func TestRetentionFreesAFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.New(t, 96<<10)
	dir := filepath.Join(disk, "data")
	d := mustOpenData(t, configOf(t, "--data-dir", dir, "--disk-reserve", "4MiB"))
	nodetest.PostInTurns(t, d, 160, 250<<10, "d")
	_ = d.Close()
	p := start(t, dir, "--disk-reserve", "4MiB", "--readings-retention", "*.*.* age=10s")
	f := &fuller{process: p, readings: map[string]bool{}}
	var status int
	var body string
	until(t, "a reading to be refused", func() bool { // the first may go while the disk is being filled
		fill(t, filepath.Join(disk, "filler"), 12<<20)
		status, body = f.postOne(1000)
		return status != http.StatusOK
	})
	must(t, "a reading", http.StatusInsufficientStorage, status, body)
	p.mustHealth(t, p.deviceREST, http.StatusServiceUnavailable)
	p.mustHealth(t, p.metadata, http.StatusOK)
	status, body = f.addOne()
	must(t, "a change", http.StatusCreated, status, body)
	until(t, "readings to be taken again", func() bool { status, _ := f.postOne(1000); return status == http.StatusOK })
	p.mustHealth(t, p.deviceREST, http.StatusOK)
	for _, want := range []string{`"rule":"*.*.* age=10s"`, `"removedEvents":160,"removedBytes":40960000`, `"reserveBytes":16777216`, `"payloads":{"count":0,"bytes":0,`} {
		until(t, "metrics with "+want, func() bool { // there is room before the last is of age
			return strings.Contains(p.call(http.MethodGet, p.metadata+"/api/v2/metrics", "", "").body, want)
		})
	}
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	verify(t, dir)
}

// TestDiskFull fills the disk into the reserve of readings, then into that of changes, and frees it again.
func TestDiskFull(t *testing.T) {
	disk := disktest.New(t, 96<<10)
	filler := filepath.Join(disk, "filler")
	p := start(t, filepath.Join(disk, "data"), "--disk-reserve", "8MiB")
	f := &fuller{process: p, readings: map[string]bool{}}
	step := func(what string, reading, change int) {
		status, body := f.postOne(1000)
		must(t, what+": a reading", reading, status, body)
		status, body = f.addOne()
		must(t, what+": a change", change, status, body)
		f.check(t)
	}
	for range 2 {
		step("room", 200, 201)
		fill(t, filler, 12<<20)
		step("less than the reserve of readings", 507, 201)
		p.mustHealth(t, p.deviceREST, http.StatusServiceUnavailable)
		p.mustHealth(t, p.metadata, http.StatusOK)
		fill(t, filler, 6<<20)
		step("less than the reserve of changes", 507, 507)
		p.mustHealth(t, p.metadata, http.StatusServiceUnavailable)
		p.mustHealth(t, p.notifications, http.StatusServiceUnavailable)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		step("room again", 200, 201)
		for _, url := range []string{p.deviceREST, p.metadata, p.notifications} {
			p.mustHealth(t, url, http.StatusOK)
		}
	}
	awaitNotified(t, p)
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	f.checkStopped(t)
}

// TestDiskFullWithoutReserve lets writes hit the end of the disk: every request is answered, nothing acknowledged is
// lost, and with room again the process serves, or it has ended with a line that says why and serves after a start.
func TestDiskFullWithoutReserve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		atOnce bool // there is room again as soon as a write has failed
	}{{"room at once", true}, {"room later", false}} {
		t.Run(tt.name, func(t *testing.T) {
			disk := disktest.New(t, 192<<10)
			p := start(t, filepath.Join(disk, "data"), "--disk-reserve", "1B")
			f := &fuller{process: p, readings: map[string]bool{}}
			for range 20 {
				f.addOne()
				f.postOne(100)
			}
			for tries := 0; tries < 20 && f.failed() < 2 && !f.gaveUp(); tries++ {
				f.hitTheEnd(t, filepath.Join(disk, "filler"), tt.atOnce)
			}
			t.Logf("%d changes and %d readings acknowledged, %d writes failed, given up: %v", len(f.devices), len(f.readings), f.failed(), f.gaveUp())
			if f.failed() == 0 && !f.gaveUp() {
				t.Error("no write has met the end of the disk")
			}
			for _, line := range []string{"it takes no more events", `"error":"apply `} { // what is folded waits for room
				if f.log.count(line) > 0 {
					t.Errorf("the log says %q\n%s", line, f.log)
				}
			}
			f.afterFree(t)
			f.checkStopped(t)
		})
	}
}

// hitTheEnd fills the disk while a large request is being written, and makes room again.
func (f *fuller) hitTheEnd(t *testing.T, filler string, atOnce bool) {
	t.Helper()
	before, answered := f.failed(), make(chan struct{})
	fill(t, filler, 16<<20)
	var wg sync.WaitGroup
	wg.Go(func() { defer close(answered); f.addLarge(24) })
	wg.Go(func() { f.postOne(5000) })
	fill(t, filler, 0)
	if atOnce {
		until(t, "a failed write or an answer", func() bool {
			select {
			case <-answered:
				return true
			default:
				return f.failed() > before
			}
		})
	} else {
		wg.Wait()
		for range 3 { // on a disk that is full, or nearly
			f.addOne()
			f.postOne(100)
		}
		f.check(t)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	f.check(t)
}

// failed is how often the end of the disk was met: by appends, which did not get through, and by what is folded of them.
func (f *fuller) failed() int {
	return f.log.count("append failed") + f.log.count("disk is full: projection")
}

// addLarge adds some large devices in one request, which takes a while to write.
func (f *fuller) addLarge(n int) {
	var names, list []string
	f.mu.Lock()
	for range n {
		f.n++
		names = append(names, fmt.Sprint("large-", f.n))
		list = append(list, largeDeviceJSON(names[len(names)-1], 200_000))
	}
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.metadata+"/api/v2/device", "application/json", "["+strings.Join(list, ",")+"]")
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, status := range statuses(a) {
		if status == http.StatusCreated {
			f.devices = append(f.devices, names[i])
		}
	}
}

// gaveUp reports whether a log refuses until the next start.
func (f *fuller) gaveUp() bool { return f.log.count("log not served any more") > 0 }

// afterFree holds that the process serves again, or has ended and starts again with all that was acknowledged.
func (f *fuller) afterFree(t *testing.T) {
	t.Helper()
	refused := 0
	until(t, "changes to be taken again, or given up", func() bool {
		status, body := f.addOne()
		if status != http.StatusCreated && status != http.StatusInsufficientStorage { // which ends with the next try
			if refused++; refused == 1 {
				t.Logf("with room again: %d %s", status, body)
			}
		}
		return status == http.StatusCreated || refused > 20 || f.over.Load()
	})
	f.check(t)
	if refused > 20 || f.over.Load() {
		if !f.gaveUp() {
			t.Errorf("refuses without a line that says why\n%s", f.log)
		}
		if code := f.wait(); code != exit.Failure {
			t.Errorf("exit code %d of a process that gave up, want %d\n%s", code, exit.Failure, f.log)
		}
		f.process = start(t, f.dir)
		f.over.Store(false)
		f.check(t)
	}
	awaitNotified(t, f.process)
	if code := f.stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, f.log)
	}
}
