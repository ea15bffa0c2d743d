package lifecycle

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node/nodetest"
	"ledge/cmd/internal/server/servertest"
	"ledge/cmd/ledgetest"
	"ledge/store/disktest"
)

// fuller is a process on a small disk, with what it acknowledged.
type fuller struct {
	*ledgetest.Node
	mu       sync.Mutex
	n        int
	devices  []string
	readings map[string]bool
	over     atomic.Bool // the process has given up, and ends
}

// call is that of the process, but for one that has given up: that ends, and to a test it says what a refusal says.
func (f *fuller) call(method, url, contentType, body string) ledgetest.Answer {
	f.TB.Helper()
	a, err := ledgetest.TryCall(method, url, contentType, body)
	switch {
	case err == nil:
		return a
	case !f.gaveUp():
		f.TB.Fatalf("%s %s: %v\n%s", method, url, err, f.Log)
	}
	f.over.Store(true)
	return ledgetest.Answer{Status: http.StatusServiceUnavailable, Body: `[{"statusCode":503}]`}
}

// addOne adds a device and returns how that was answered.
func (f *fuller) addOne() (status int, body string) {
	f.mu.Lock()
	f.n++
	name := fmt.Sprint("device-", f.n)
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.Metadata+"/api/v2/device", "application/json", "["+ledgetest.DeviceJSON(name)+"]")
	status = ledgetest.Statuses(a)[0]
	if status == http.StatusCreated {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.devices = append(f.devices, name)
	}
	return status, a.Body
}

// postOne posts a reading of so many bytes in all.
func (f *fuller) postOne(bytes int) (status int, body string) {
	f.mu.Lock()
	f.n++
	value := fmt.Sprintf(`"%0*d"`, bytes-2, f.n)
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.DeviceREST+"/api/v2/resource/sample-json/json", "application/json", `{"v":`+value+`}`)
	if a.Status == http.StatusOK {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.readings[`{"v":`+value+`}`] = true
	}
	return a.Status, a.Body
}

// check holds that all that was acknowledged is there.
func (f *fuller) check(t *testing.T) {
	t.Helper()
	for _, name := range f.devices {
		if f.over.Load() {
			return
		}
		if a := f.call(http.MethodGet, f.Metadata+"/api/v2/device/name/"+name, "", ""); a.Status != http.StatusOK && !f.over.Load() {
			t.Errorf("%s was acknowledged: %d %s", name, a.Status, a.Body)
		}
	}
}

// checkStopped holds that of the stopped folder.
func (f *fuller) checkStopped(t *testing.T) {
	t.Helper()
	ledgetest.Verify(t, f.Dir)
	all := ledgetest.Facts(t, f.Dir)
	ledgetest.CheckNotified(t, all)
	ledgetest.CheckReadings(t, f.Dir, all, f.readings)
}

// TestRetentionFreesAFullDisk has readings refused on a full disk until a rule removes old ones, and with them the log's
// front: nobody else makes room, and nothing is started again. What cannot wait, changes and removals, is taken meanwhile.
func TestRetentionFreesAFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.New(t, 96<<10)
	dir := filepath.Join(disk, "data")
	d := servertest.MustOpenNode(t, servertest.ConfigOf(t, "--data-dir", dir, "--disk-reserve", "4MiB"))
	nodetest.PostInTurns(t, d, 160, 250<<10, "d")
	_ = d.Close()
	p := ledgetest.Start(t, dir, "--disk-reserve", "4MiB", "--readings-retention", "*.*.* age=10s")
	f := &fuller{Node: p, readings: map[string]bool{}}
	var status int
	var body string
	ledgetest.Until(t, "a reading to be refused", func() bool { // the first may go while the disk is being filled
		ledgetest.FillDisk(t, filepath.Join(disk, "filler"), 12<<20)
		status, body = f.postOne(1000)
		return status != http.StatusOK
	})
	ledgetest.Must(t, "a reading", http.StatusInsufficientStorage, status, body)
	ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusServiceUnavailable)
	ledgetest.MustHealth(p, t, p.Metadata, http.StatusOK)
	status, body = f.addOne()
	ledgetest.Must(t, "a change", http.StatusCreated, status, body)
	ledgetest.Until(t, "readings to be taken again", func() bool { status, _ := f.postOne(1000); return status == http.StatusOK })
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

// TestDiskFull fills the disk into the reserve of readings, then into that of changes, and frees it again.
func TestDiskFull(t *testing.T) {
	disk := disktest.New(t, 96<<10)
	filler := filepath.Join(disk, "filler")
	p := ledgetest.Start(t, filepath.Join(disk, "data"), "--disk-reserve", "8MiB")
	f := &fuller{Node: p, readings: map[string]bool{}}
	step := func(what string, reading, change int) {
		status, body := f.postOne(1000)
		ledgetest.Must(t, what+": a reading", reading, status, body)
		status, body = f.addOne()
		ledgetest.Must(t, what+": a change", change, status, body)
		f.check(t)
	}
	for range 2 {
		step("room", 200, 201)
		ledgetest.FillDisk(t, filler, 12<<20)
		step("less than the reserve of readings", 507, 201)
		ledgetest.MustHealth(p, t, p.DeviceREST, http.StatusServiceUnavailable)
		ledgetest.MustHealth(p, t, p.Metadata, http.StatusOK)
		ledgetest.FillDisk(t, filler, 6<<20)
		step("less than the reserve of changes", 507, 507)
		ledgetest.MustHealth(p, t, p.Metadata, http.StatusServiceUnavailable)
		ledgetest.MustHealth(p, t, p.Notifications, http.StatusServiceUnavailable)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		step("room again", 200, 201)
		for _, url := range []string{p.DeviceREST, p.Metadata, p.Notifications} {
			ledgetest.MustHealth(p, t, url, http.StatusOK)
		}
	}
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
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
			p := ledgetest.Start(t, filepath.Join(disk, "data"), "--disk-reserve", "1B")
			f := &fuller{Node: p, readings: map[string]bool{}}
			for range 20 {
				f.addOne()
				f.postOne(100)
			}
			for tries := 0; tries < 20 && f.failed() < 2 && !f.gaveUp(); tries++ {
				left := int64(tries%2) * 7 << 20 // for some events, and not for the state
				f.hitTheEnd(t, filepath.Join(disk, "filler"), tt.atOnce, left)
			}
			t.Logf("%d changes and %d readings acknowledged, %d writes failed, given up: %v", len(f.devices), len(f.readings), f.failed(), f.gaveUp())
			if f.failed() == 0 && !f.gaveUp() {
				t.Error("no write has met the end of the disk")
			}
			for _, line := range []string{"it takes no more events", `"error":"apply `} { // what is folded waits for room
				if f.Log.Count(line) > 0 {
					t.Errorf("the log says %q\n%s", line, f.Log)
				}
			}
			f.afterFree(t)
			f.checkStopped(t)
		})
	}
}

// hitTheEnd has large requests written to a disk without room for them, and makes room again. If left is 0, it fills the disk meanwhile: a
// request may be admitted before the disk is full and written after. Otherwise so many bytes are left before.
func (f *fuller) hitTheEnd(t *testing.T, filler string, atOnce bool, left int64) {
	t.Helper()
	before, answered := f.failed(), make(chan struct{})
	if left > 0 {
		ledgetest.FillDisk(t, filler, left)
	} else {
		ledgetest.FillDisk(t, filler, 16<<20)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(answered)
		for range 8 {
			f.addLarge(3)
		}
	})
	wg.Go(func() { f.postOne(5000) })
	ledgetest.FillDisk(t, filler, left)
	if atOnce {
		ledgetest.Until(t, "a failed write or an answer", func() bool {
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
	return f.Log.Count("append failed") + f.Log.Count("disk is full: projection")
}

// addLarge adds some large devices in one request, which takes a while to write.
func (f *fuller) addLarge(n int) {
	var names, list []string
	f.mu.Lock()
	for range n {
		f.n++
		names = append(names, fmt.Sprint("large-", f.n))
		list = append(list, ledgetest.LargeDeviceJSON(names[len(names)-1], 200_000))
	}
	f.mu.Unlock()
	a := f.call(http.MethodPost, f.Metadata+"/api/v2/device", "application/json", "["+strings.Join(list, ",")+"]")
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, status := range ledgetest.Statuses(a) {
		if status == http.StatusCreated {
			f.devices = append(f.devices, names[i])
		}
	}
}

// gaveUp reports whether a log refuses until the next start.
func (f *fuller) gaveUp() bool { return f.Log.Count("log not served any more") > 0 }

// afterFree holds that the process serves again, or has ended and starts again with all that was acknowledged.
func (f *fuller) afterFree(t *testing.T) {
	t.Helper()
	refused := 0
	ledgetest.Until(t, "changes to be taken again, or given up", func() bool {
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
			t.Errorf("refuses without a line that says why\n%s", f.Log)
		}
		if code := f.Wait(); code != exit.Failure {
			t.Errorf("exit code %d of a process that gave up, want %d\n%s", code, exit.Failure, f.Log)
		}
		f.Node = ledgetest.Start(t, f.Dir)
		f.over.Store(false)
		f.check(t)
	}
	ledgetest.AwaitNotified(t, f.Node)
	if code := f.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, f.Log)
	}
}
