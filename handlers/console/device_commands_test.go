package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/console/web"
)

// eventList is a log of changes. Its first event has the sequence 1.
type eventList []domain.Recorded

func (l eventList) Last() uint64 { return uint64(len(l)) }

func (l eventList) At(_ context.Context, seq uint64) (domain.Recorded, bool, error) {
	return l[seq-1], l[seq-1].Event != nil, nil
}

func (l eventList) Read(context.Context, uint64, uint64, func(domain.Recorded) error) error {
	return nil
}

// commandPages returns the pages of the commands of pump-1 on a log, whose events are a second apart. An event that is nil is in an
// archive. The program started so many seconds after the first event. now is the time since the first event.
func commandPages(events []domain.Event, started int, now time.Duration) deviceCommands {
	begin := time.Unix(1e9, 0)
	state, list := domain.NewMapState(), eventList{}
	domain.DeviceAdded{Device: domain.Device{Name: "pump-1"}}.Evolve(state)
	for i, e := range events {
		stamp := domain.Stamp{At: begin.Add(time.Duration(i) * time.Second)}
		list = append(list, domain.Recorded{Stamp: stamp, Seq: uint64(i) + 1, Event: e})
		if e != nil {
			domain.Evolve(state, &list[i])
		}
	}
	site := &web.Site{Options: web.Options{Options: handlers.Options{Now: func() time.Time { return begin.Add(now) }}}}
	return deviceCommands{
		devices: devices{site, func() (domain.View, func()) { return domain.View{State: state}, func() {} }},
		history: history{changes: list}, started: begin.Add(time.Duration(started) * time.Second),
	}
}

// listCommands returns the rows of a page as texts, and the event that the next page begins with.
func listCommands(t *testing.T, s deviceCommands, from uint64) (rows []string, d commandsData) {
	t.Helper()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/?from=%d", from), nil)
	d.Name = "pump-1"
	if err := s.listIssued(c, &d); err != nil {
		t.Fatal(err)
	}
	for _, one := range d.Issued {
		rows = append(rows, fmt.Sprintf("%d %s %d", one.Seq, map[bool]string{true: "under way", false: "ended"}[one.UnderWay], one.Status))
	}
	return rows, d
}

func commandIssued(status int, prev uint64) domain.CommandIssued {
	return domain.CommandIssued{Device: "pump-1", Command: "c", Status: status, Prev: prev}
}

func commandAnswered(issued, prev uint64) domain.CommandAnswered {
	return domain.CommandAnswered{Device: "pump-1", Command: "c", Issued: issued, Status: 200, Prev: prev}
}

// Each command is listed once, with its outcome, also commands that earlier versions recorded.
func TestListedCommands(t *testing.T) {
	events := []domain.Event{
		commandIssued(201, 0),                        // 1: of version 1, with its outcome
		commandIssued(0, 1),                          // 2: its outcome was lost in a crash
		commandIssued(0, 2),                          // 3
		commandIssued(0, 3),                          // 4
		commandAnswered(4, 4), commandAnswered(3, 5), // 5 and 6
		commandIssued(423, 6), // 7: refused
		commandIssued(0, 7),   // 8: under way
	}
	for _, c := range []struct {
		started int
		now     time.Duration
		first   string
	}{
		{2, 10 * time.Second, "8 under way 0"},
		{8, 10 * time.Second, "8 ended 0"}, // there was a restart
		{2, 7*time.Second + domain.CommandTimeout, "8 ended 0"},
		{2, 0, "8 ended 0"}, // the clock was set back
	} {
		rows, d := listCommands(t, commandPages(events, c.started, c.now), 9)
		if want := []string{c.first, "7 ended 423", "4 ended 200", "3 ended 200", "2 ended 0", "1 ended 201"}; !slices.Equal(rows, want) ||
			d.Older != 0 || d.Archived {
			t.Errorf("got  %q, %+v\nwant %q", rows, d, want)
		}
	}
	events[0] = nil
	rows, d := listCommands(t, commandPages(events, 2, 10*time.Second), 3)
	if !slices.Equal(rows, []string{"2 ended 0"}) || d.Older != 0 || !d.Archived {
		t.Errorf("with an archive: got %q, %+v", rows, d)
	}
}

// A command whose outcome is on the page before is not listed again.
func TestPagesOfCommands(t *testing.T) {
	var events []domain.Event
	for range commandRows + 2 { // all are under way at once
		events = append(events, commandIssued(0, uint64(len(events))))
	}
	for i := range commandRows + 2 {
		events = append(events, commandAnswered(uint64(i)+1, uint64(len(events))))
	}
	s := commandPages(events, 0, time.Hour)
	first, d := listCommands(t, s, 1000)
	second, last := listCommands(t, s, d.Older)
	if len(first) != commandRows || !slices.Equal(second, []string{"2 ended 200", "1 ended 200"}) || last.Older != 0 {
		t.Errorf("got %q, %q, then %d", first, second, last.Older)
	}
}
