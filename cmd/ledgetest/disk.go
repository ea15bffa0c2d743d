package ledgetest

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
)

// FillDisk writes a file until no more than so many bytes are left on its disk.
func FillDisk(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 4 << 10
	for FreeSpace(t, path) >= left+page {
		n := (FreeSpace(t, path) - left) / page * page
		if _, err := f.Write(make([]byte, min(n, 1<<20))); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// FreeSpace returns the free space of the disk that has path, in bytes.
func FreeSpace(t *testing.T, path string) int64 {
	t.Helper()
	out, err := exec.Command("stat", "-f", "-c", "%a %S", filepath.Dir(path)).Output()
	var blocks, size int64
	if _, serr := fmt.Sscan(string(out), &blocks, &size); err != nil || serr != nil {
		t.Fatalf("stat -f: %q, %v, %v", out, err, serr)
	}
	return blocks * size
}

// Fuller is a process on a small disk, with what it acknowledged.
type Fuller struct {
	*Node
	mu       sync.Mutex
	n        int
	Devices  []string
	Readings map[string]bool
	over     atomic.Bool // the process has given up, and ends
}

// Call is that of the process, but for one that has given up: that ends, and to a test it says what a refusal says.
func (f *Fuller) Call(method, url, contentType, body string) Answer {
	f.TB.Helper()
	a, err := TryCall(method, url, contentType, body)
	switch {
	case err == nil:
		return a
	case !f.GaveUp():
		f.TB.Fatalf("%s %s: %v\n%s", method, url, err, f.Log)
	}
	f.over.Store(true)
	return Answer{Status: http.StatusServiceUnavailable, Body: `[{"statusCode":503}]`}
}

// AddOne adds a device and returns how that was answered.
func (f *Fuller) AddOne() (status int, body string) {
	f.mu.Lock()
	f.n++
	name := fmt.Sprint("device-", f.n)
	f.mu.Unlock()
	a := f.Call(http.MethodPost, f.Metadata+"/api/v2/device", "application/json", "["+DeviceJSON(name)+"]")
	status = Statuses(a)[0]
	if status == http.StatusCreated {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.Devices = append(f.Devices, name)
	}
	return status, a.Body
}

// PostOne posts a reading of so many bytes in all.
func (f *Fuller) PostOne(bytes int) (status int, body string) {
	f.mu.Lock()
	f.n++
	value := fmt.Sprintf(`"%0*d"`, bytes-2, f.n)
	f.mu.Unlock()
	a := f.Call(http.MethodPost, f.DeviceREST+"/api/v2/resource/sample-json/json", "application/json", `{"v":`+value+`}`)
	if a.Status == http.StatusOK {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.Readings[`{"v":`+value+`}`] = true
	}
	return a.Status, a.Body
}

// Check holds that all that was acknowledged is there.
func (f *Fuller) Check(t *testing.T) {
	t.Helper()
	for _, name := range f.Devices {
		if f.over.Load() {
			return
		}
		if a := f.Call(http.MethodGet, f.Metadata+"/api/v2/device/name/"+name, "", ""); a.Status != http.StatusOK && !f.over.Load() {
			t.Errorf("%s was acknowledged: %d %s", name, a.Status, a.Body)
		}
	}
}

// CheckStopped holds that of the stopped folder.
func (f *Fuller) CheckStopped(t *testing.T) {
	t.Helper()
	Verify(t, f.Dir)
	all := Facts(t, f.Dir)
	CheckNotified(t, all)
	CheckReadings(t, f.Dir, all, f.Readings)
}

// Must holds that an answer is as wanted and, where it is a refusal, says what is wrong.
func Must(t *testing.T, what string, want int, status int, body string) {
	t.Helper()
	if status != want || want == http.StatusInsufficientStorage && !strings.Contains(body, "disk is full") {
		t.Errorf("%s: %d %s, want %d", what, status, body, want)
	}
}

// MustHealth holds that a service says whether it is ready, and why not.
func MustHealth(p *Node, t *testing.T, url string, want int) {
	t.Helper()
	if a := p.Call(http.MethodGet, url+"/api/v2/health", "", ""); a.Status != want || want != http.StatusOK && !strings.Contains(a.Body, "not ready: the disk is full") {
		t.Errorf("%s is %d %s, want %d", url, a.Status, a.Body, want)
	}
}

// HitTheEnd fills the disk while a large request is being written, and makes room again.
func (f *Fuller) HitTheEnd(t *testing.T, filler string, atOnce bool) {
	t.Helper()
	before, answered := f.Failed(), make(chan struct{})
	FillDisk(t, filler, 16<<20)
	var wg sync.WaitGroup
	wg.Go(func() { defer close(answered); f.addLarge(24) })
	wg.Go(func() { f.PostOne(5000) })
	FillDisk(t, filler, 0)
	if atOnce {
		Until(t, "a failed write or an answer", func() bool {
			select {
			case <-answered:
				return true
			default:
				return f.Failed() > before
			}
		})
	} else {
		wg.Wait()
		for range 3 { // on a disk that is full, or nearly
			f.AddOne()
			f.PostOne(100)
		}
		f.Check(t)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	f.Check(t)
}

// Failed is how often the end of the disk was met: by appends, which did not get through, and by what is folded of them.
func (f *Fuller) Failed() int {
	return f.Log.Count("append failed") + f.Log.Count("disk is full: projection")
}

// addLarge adds some large devices in one request, which takes a while to write.
func (f *Fuller) addLarge(n int) {
	var names, list []string
	f.mu.Lock()
	for range n {
		f.n++
		names = append(names, fmt.Sprint("large-", f.n))
		list = append(list, largeDeviceJSON(names[len(names)-1], 200_000))
	}
	f.mu.Unlock()
	a := f.Call(http.MethodPost, f.Metadata+"/api/v2/device", "application/json", "["+strings.Join(list, ",")+"]")
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, status := range Statuses(a) {
		if status == http.StatusCreated {
			f.Devices = append(f.Devices, names[i])
		}
	}
}

// GaveUp reports whether a log refuses until the next start.
func (f *Fuller) GaveUp() bool { return f.Log.Count("log not served any more") > 0 }

// AfterFree holds that the process serves again, or has ended and starts again with all that was acknowledged.
func (f *Fuller) AfterFree(t *testing.T) {
	t.Helper()
	refused := 0
	Until(t, "changes to be taken again, or given up", func() bool {
		status, body := f.AddOne()
		if status != http.StatusCreated && status != http.StatusInsufficientStorage { // which ends with the next try
			if refused++; refused == 1 {
				t.Logf("with room again: %d %s", status, body)
			}
		}
		return status == http.StatusCreated || refused > 20 || f.over.Load()
	})
	f.Check(t)
	if refused > 20 || f.over.Load() {
		if !f.GaveUp() {
			t.Errorf("refuses without a line that says why\n%s", f.Log)
		}
		if code := f.Wait(); code != exit.Failure {
			t.Errorf("exit code %d of a process that gave up, want %d\n%s", code, exit.Failure, f.Log)
		}
		f.Node = Start(t, f.Dir)
		f.over.Store(false)
		f.Check(t)
	}
	AwaitNotified(t, f.Node)
	if code := f.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, f.Log)
	}
}
