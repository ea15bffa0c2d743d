package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// page is an answer with events.
type page struct {
	Events []struct {
		Sequence uint64
		Type     string
	}
	Next, Last uint64
	Incomplete string
}

// readPage reads a page, which must be there.
func readPage(p *ledgetest.Node, query string) (got page) {
	p.TB.Helper()
	a := p.Call(http.MethodGet, p.Metadata+"/api/v2/ledger/event?"+query, "", "")
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("%s: %d %.300s: %v", query, a.Status, a.Body, err)
	}
	return got
}

// readAll reads all pages of a query, each with so many events at most.
func readAll(p *ledgetest.Node, query string, limit int) (seqs []uint64) {
	p.TB.Helper()
	for from := uint64(1); ; {
		got := readPage(p, fmt.Sprintf("%s&limit=%d&from=%d", query, limit, from))
		for _, e := range got.Events {
			seqs = append(seqs, e.Sequence)
		}
		if from = got.Next; from > got.Last {
			return seqs
		}
	}
}

var consoleRow = regexp.MustCompile(`<a href="/ledger/changes/(\d+)">\d+</a></th>`)

// TestSameEvents holds that the API, the command line and the console choose the same events.
func TestSameEvents(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	for _, name := range []string{"cam-1", "cam-2", "cam-10"} {
		p.AddDevice(name)
		ledgetest.DescribeDevice(p, name, "x")
	}
	p.AddConsoleUser(t, domain.Auditor)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-auditor", ledgetest.ConsolePassword)
	for _, tt := range []struct {
		api, console string
		cli          []string
		least        int
	}{
		{"entity=device&name=cam-1", "kind=device&name=cam-1&exact=true", []string{"--entity", "device", "--name", "cam-1"}, 2},
		{"entity=device&name=*cam-1*", "kind=device&name=CAM-1", []string{"--entity", "device", "--name", "*cam-1*"}, 4},
		{"type=*added*", "type=added", []string{"--type", "*added*"}, 4},
		{"type=device.updated", "type=device.updated", []string{"--type", "device.updated"}, 3},
		{"actor=*cli*", "actor=cli", []string{"--actor", "*cli*"}, 1},
		{"actor=*anonymous*&entity=profile", "actor=anonymous&kind=profile", []string{"--actor", "*anonymous*", "--entity", "profile"}, 0},
		{"entity=nosuch", "kind=nosuch", []string{"--entity", "nosuch"}, 0},
		{"to=2000-01-01", "to=2000-01-01", []string{"--until", "2000-01-01"}, 0},
		{"name=*", "name=*", []string{"--name", "*"}, 8},
	} {
		var printed, shown []uint64
		for _, line := range ledgetest.Logged(t, p.Dir, append(tt.cli, "--from", "1", "--subject", "ledge.event.>")...) {
			printed = append(printed, line.Seq)
		}
		for _, m := range consoleRow.FindAllStringSubmatch(c.Get("/ledger?log=changes&"+tt.console).Text, -1) {
			seq, _ := strconv.ParseUint(m[1], 10, 64)
			shown = append(shown, seq)
		}
		slices.Reverse(shown)
		for _, limit := range []int{1, 3, 100} {
			if got := readAll(p, tt.api, limit); !slices.Equal(got, printed) || !slices.Equal(got, shown) || len(got) < tt.least {
				t.Errorf("%s, %d a page: the API has %v, ledge log %v, the console %v", tt.api, limit, got, printed, shown)
			}
		}
	}
	if got := readAll(p, "log=readings", 10); len(got) != 0 {
		t.Errorf("the log of readings has %v", got)
	}
}

// TestPagesWhileOthersWrite reads pages and goes on at the end of the log while events are recorded: each is there once, in order.
func TestPagesWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	p.AddDevice("cam-1")
	const writes = 200
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range writes {
			body := fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"cam-1","description":"%d"}}]`, i)
			a, err := ledgetest.TryCall(http.MethodPatch, p.Metadata+"/api/v2/device", "application/json", body)
			if err != nil || a.Status != http.StatusMultiStatus {
				t.Errorf("write %d: %+v %v", i, a, err)
			}
		}
	}()
	for _, query := range []string{"", "entity=device&name=cam-1&type=device.updated"} {
		var seqs []uint64
		ledgetest.Until(t, "all events", func() bool {
			from := uint64(1)
			if len(seqs) > 0 {
				from = seqs[len(seqs)-1] + 1
			}
			got := readPage(p, fmt.Sprintf("%s&from=%d&limit=7", query, from))
			for _, e := range got.Events {
				if e.Sequence < from || query == "" && e.Sequence != from {
					t.Fatalf("%q: event %d comes behind %d", query, e.Sequence, from-1)
				}
				seqs, from = append(seqs, e.Sequence), e.Sequence+1
			}
			return len(seqs) >= writes
		})
	}
	<-done
}

// TestArchivedEvents reads events from an archive, and the others when the archive is missing.
func TestArchivedEvents(t *testing.T) {
	t.Parallel()
	dir, file := ledgetest.Archived(t)
	p := ledgetest.Start(t, dir)
	all, of := readAll(p, "", 7), readAll(p, "entity=device&name=cam-1", 7)
	for i, seq := range all {
		if seq != uint64(i)+1 {
			t.Fatalf("event %d comes %d.", seq, i+1)
		}
	}
	if len(of) != 27 || !slices.Equal(of, readAll(p, "entity=device&name=cam-1", 1000)) {
		t.Errorf("cam-1 has the events %v, want 27", of)
	}
	first := p.Metadata + "/api/v2/ledger/event/1"
	if a := p.Call(http.MethodGet, first, "", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"chain":"`) {
		t.Errorf("an archived event: %d %s", a.Status, a.Body)
	}
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"limit=-1", "limit=-1&entity=device&name=cam-1"} {
		got := readPage(p, query)
		if !strings.Contains(got.Incomplete, "in an archive that is missing") {
			t.Errorf("%s: incomplete is %q", query, got.Incomplete)
		}
		if len(got.Events) == 0 || got.Events[0].Sequence == 1 || got.Next != got.Last+1 {
			t.Errorf("%s: without the archive there are %d events, next is %d of %d", query, len(got.Events), got.Next, got.Last)
		}
	}
	if a := p.Call(http.MethodGet, first, "", ""); a.Status != http.StatusNotFound || !strings.Contains(a.Body, "missing") {
		t.Errorf("an event of the missing archive: %d %s", a.Status, a.Body)
	}
	p.AddConsoleUser(t, domain.Auditor)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-auditor", ledgetest.ConsolePassword)
	if got := c.Get("/ledger?kind=device&name=" + url.QueryEscape("cam-1")); !strings.Contains(got.Text, "Not all events can be read") {
		t.Error("the console does not say that events are missing")
	}
}

// TestDamagedEvents damages an event under a running server, and asks for it: on a page, by the entity, by the sequence, in the history of
// its device, and for the device and the list as of an event before it. Each server may stop at the first answer.
func TestDamagedEvents(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"ledger/event?limit=-1", "ledger/event?limit=-1&entity=device&name=cam-1", "ledger/event/DAMAGED",
		"ledger/history/device/cam-1?limit=-1", "device/name/cam-1?asOf=BEFORE", "device/all?asOf=BEFORE",
	} {
		p := ledgetest.Start(t, t.TempDir())
		p.AddDevice("cam-1")
		for i := range 20 {
			ledgetest.DescribeDevice(p, "cam-1", fmt.Sprint("description ", i, strings.Repeat("x", 1000)))
		}
		last := readPage(p, "limit=1").Last
		query = strings.NewReplacer("DAMAGED", fmt.Sprint(last-9), "BEFORE", fmt.Sprint(last-15)).Replace(query)
		ledgetest.Alter(t, ledgetest.Block(p.Dir, "LEDGE_EVENTS", "1"), func(b []byte) []byte {
			at := strings.Index(string(b), "description 10x")
			if at < 0 {
				t.Fatal("the event is not in the block file")
			}
			b[at] ^= 1
			return b
		})
		a, err := ledgetest.TryCall(http.MethodGet, p.Metadata+"/api/v2/"+query, "", "")
		if err != nil || a.Status != http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %v, %d %.300s", query, err, a.Status, a.Body)
		}
		if _, ok := p.Log.Find("panicked"); ok {
			t.Errorf("%s: a panic\n%s", query, p.Log)
		}
	}
}
