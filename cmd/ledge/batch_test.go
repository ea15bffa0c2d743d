package main

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
)

const large = 10_000 // elements, which one request may have

// item is the answer to one element of a batch.
type item struct {
	RequestID, ID, Message string
	StatusCode             int
}

// batchID is the request id of element i of a batch.
func batchID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// array is a batch of n elements that format makes of their request ids and numbers.
func array(n int, element func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"apiVersion":"v2","requestId":%q,%s}`, batchID(i), element(i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// ordinary are devices as they are in the field.
func ordinary(prefix string, n int) string {
	return array(n, func(i int) string {
		return fmt.Sprintf(`"device":{"name":"%s-%d","description":"Camera above lane %d","adminState":"UNLOCKED","operatingState":"UP",
			"labels":["camera","site-%d"],"location":{"building":"B1","level":%d},"serviceName":"device-rest","profileName":"sample-image",
			"protocolName":"rest","protocols":{"other":{"Address":"10.0.0.%d","Port":"300"}},
			"autoEvents":[{"interval":"30s","onChange":false,"sourceName":"jpeg"}]}`, prefix, i, i%40, i%100, i%4, i%250)
	})
}

// described are patches of those devices.
func described(prefix string, n int) string {
	return array(n, func(i int) string { return fmt.Sprintf(`"device":{"name":"%s-%d","description":"patched"}`, prefix, i) })
}

// itemsOf holds that a is a 207 with n items in the order of their elements.
func itemsOf(tb testing.TB, a answer, n int) []item {
	tb.Helper()
	var items []item
	if err := json.Unmarshal([]byte(a.body), &items); err != nil || a.status != http.StatusMultiStatus || len(items) != n {
		tb.Fatalf("got %d with %d items, %v, want 207 with %d: %.300s", a.status, len(items), err, n, a.body)
	}
	for i, one := range items {
		if one.RequestID != batchID(i) {
			tb.Fatalf("item %d is that of %q, want %q", i, one.RequestID, batchID(i))
		}
	}
	return items
}

// allAre holds that each item has a status.
func allAre(tb testing.TB, items []item, status int) {
	tb.Helper()
	for i, one := range items {
		if one.StatusCode != status || (one.ID != "") != (status == http.StatusCreated) {
			tb.Fatalf("item %d: got %+v, want %d", i, one, status)
		}
	}
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostTaken is the most that the process took so far, in KiB; 0 where that is not known.
func (p *process) mostTaken() (kib int64) {
	p.tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	m := peak.FindSubmatch(status)
	if err != nil || m == nil {
		p.tb.Log("the peak of the memory is not known here")
		return 0
	}
	kib, _ = strconv.ParseInt(string(m[1]), 10, 64)
	return kib
}

// inWork is what the log, its queues and the overlays of the projections take at their bounds, in bytes.
const inWork = 96 << 20

// checkMemory holds that the process never took more than all bodies and what is in work, some slack, and what it maps of its files.
func (p *process) checkMemory() {
	p.tb.Helper()
	kib := p.mostTaken()
	const bodies = 128 << 20 // of each service
	bound := int64(bodies+inWork) * 5 / 4
	mapped, _ := filepath.Glob(filepath.Join(p.dir, "*.db"))
	for _, path := range append(mapped, binary) {
		if info, err := os.Stat(path); err == nil {
			bound += info.Size()
		}
	}
	p.tb.Logf("at most %d MiB resident, of %d", kib>>10, bound>>20)
	if kib<<10 > bound {
		p.tb.Errorf("at most %d MiB resident, want %d or less", kib>>10, bound>>20)
	}
}

func (p *process) deviceCount() int {
	p.tb.Helper()
	var list struct{ TotalCount int }
	a := p.call(http.MethodGet, p.metadata+"/api/v2/device/all?limit=1", "", "")
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		p.tb.Fatalf("list devices: %d %s", a.status, a.body)
	}
	return list.TotalCount
}

// The default settings take 10,000 devices in one array, and as many patches.
func TestLargeBatch(t *testing.T) {
	p := start(t, t.TempDir())
	url, before := p.metadata+"/api/v2/device", p.deviceCount()
	allAre(t, itemsOf(t, p.call(http.MethodPost, url, "application/json", ordinary("cam", large)), large), http.StatusCreated)
	allAre(t, itemsOf(t, p.call(http.MethodPatch, url, "application/json", described("cam", large)), large), http.StatusOK)
	if got := p.deviceCount(); got != before+large {
		t.Errorf("%d devices, want %d", got, before+large)
	}
	for _, i := range []int{0, large / 2, large - 1} {
		a := p.call(http.MethodGet, fmt.Sprintf("%s/name/cam-%d", url, i), "", "")
		if !strings.Contains(a.body, `"description":"patched"`) {
			t.Errorf("device %d: %s", i, a.body)
		}
	}
	p.checkMemory()
}

// Eight of them at the same time are answered in full or refused in full, with the cure, in bounded memory; what was
// answered survives a crash.
func TestLargeBatchesAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	before := p.deviceCount()
	answers, errs := make([]answer, 8), make([]error, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i], errs[i] = tryCall(http.MethodPost, p.metadata+"/api/v2/device", "application/json", ordinary(fmt.Sprint("cam-", i), large))
		})
	}
	all.Wait()
	taken := 0
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Errorf("batch %d: %v\n%s", i, errs[i], p.log)
		case a.status == http.StatusMultiStatus:
			allAre(t, itemsOf(t, a, large), http.StatusCreated)
			taken++
		case a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "too many request bodies are in memory"):
			t.Errorf("batch %d: got %d %.300s", i, a.status, a.body)
		}
	}
	t.Logf("%d of %d batches were taken", taken, len(answers))
	if taken == 0 {
		t.Error("none of the batches was taken")
	}
	p.checkMemory()
	p.kill()
	if got := start(t, dir).deviceCount(); got != before+taken*large {
		t.Errorf("%d devices after a crash, want %d", got, before+taken*large)
	}
}

// Changes of one profile write the whole of it each time: the bytes of a request are bounded, and the elements after
// that are refused.
func TestLargeBatchOfOneProfile(t *testing.T) {
	p := start(t, t.TempDir())
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceprofile",
		`[{"apiVersion":"v2","profile":{"name":"plc","deviceResources":[],"deviceCommands":[]}}]`, http.StatusCreated)
	url := p.metadata + "/api/v2/deviceprofile/resource"
	a := p.call(http.MethodPost, url, "application/json", array(large, func(i int) string {
		return fmt.Sprintf(`"profileName":"plc","resource":{"name":"register-%d","attributes":{"register":%d},
			"properties":{"valueType":"Int32","readWrite":"RW","units":"C"}}`, i, i)
	}))
	added := 0
	for i, one := range itemsOf(t, a, large) {
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
	got := p.call(http.MethodGet, p.metadata+"/api/v2/deviceprofile/name/plc", "", "")
	if err := json.Unmarshal([]byte(got.body), &found); err != nil || len(found.Profile.DeviceResources) != added {
		t.Errorf("the profile has %d resources, %v, want %d", len(found.Profile.DeviceResources), err, added)
	}
	p.postJSON(http.MethodPost, url, fmt.Sprintf(`[{"apiVersion":"v2","profileName":"plc","resource":{"name":"register-%d",
		"properties":{"valueType":"Int32","readWrite":"RW"}}}]`, added), http.StatusCreated)
	same := array(large, func(int) string { return `"profileName":"plc","resource":{"name":"register-0","isHidden":false}` })
	allAre(t, itemsOf(t, p.call(http.MethodPatch, url, "application/json", same), large), http.StatusOK)
	p.checkMemory()
}

// A batch of 10,000 takes few fsyncs of the log: one for each group of 1,000.
func TestLargeBatchSharesSyncs(t *testing.T) {
	trace, runner := mustTrace(t)
	p := launchUnder(t, runner, t.TempDir())
	if err := p.waitReady(); err != nil {
		t.Fatalf("ledge serve: %v\n%s", err, p.log)
	}
	from := time.Now()
	allAre(t, itemsOf(t, p.call(http.MethodPost, p.metadata+"/api/v2/device", "application/json", ordinary("cam", large)), large), http.StatusCreated)
	to := time.Now()
	killTraced(t, p)
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
			m := line.FindStringSubmatch(one)
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
