package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/eventlog"
	"ledge/handlers/console/web"
)

// Ledger reads the logs and verifies them.
type Ledger interface {
	// Logs are all logs with what is on them.
	Logs() []LogSpan
	// Page returns the events that a query chooses.
	Page(ctx context.Context, q eventlog.Query) (eventlog.Page, error)
	// Event returns one event with its headers and its chain hash.
	Event(ctx context.Context, log string, seq uint64) (eventlog.Event, error)
	// Explain decodes an event. detail is the most important part of the event in a line; undecodable says why this version cannot read
	// the event, "" if it can.
	Explain(e eventlog.Event) (detail, undecodable string)
	// Verify begins to verify all logs in the name of an actor, unless that is under way.
	Verify(actor string)
	// Verification is the one that is under way, or else the last.
	Verification() Verification
}

// LogSpan is a log with the sequences that are on it or archived.
type LogSpan struct {
	Name        string // changes, notifications or readings
	First, Last uint64
	Chain       string // of the last event, in hexadecimal digits
}

// Entry is an event on a log, without its data.
type Entry struct {
	eventlog.Event
	At                  int64  // in milliseconds since the Unix epoch
	Type                string // such as device.added/1
	What                string // such as device added
	Kind, Name          string // of the entity that the event is about
	Resource            string // of a reading; "" if there is none
	Detail, Undecodable string // see [Ledger].Explain
}

// newEntry decodes an event, and frees its data.
func newEntry(ledger Ledger, e eventlog.Event) Entry {
	entry := Entry{Event: e, At: e.Stamp.At.UnixMilli(), Type: e.Wire.Type}
	entry.What = strings.ReplaceAll(eventlog.VerbOf(e.Wire.Type), ".", " ")
	if entry.What == "user password" {
		entry.What = "user password set"
	}
	entry.Kind, entry.Name = e.Entity()
	if e.Log == eventlog.Readings && len(e.Wire.Subject) == 3 && entry.Kind == "device" {
		entry.Resource = e.Wire.Subject[2]
	}
	entry.Detail, entry.Undecodable = ledger.Explain(e)
	entry.Wire.Data = nil
	return entry
}

// MostEntryData is how much of the data of one event is shown, in bytes.
const MostEntryData = 64 << 10

// Verification is a check of all logs.
type Verification struct {
	Running        bool
	Actor          string
	Started, Ended int64  // in milliseconds since the Unix epoch
	Done, Total    uint64 // events
	Percent        uint64 // of the events that are done
	Log            string // that is read now
	// Reports are what was found of each log that is whole; Damage is what is wrong.
	Reports []VerifiedLog
	Damage  string
}

// VerifiedLog is a log that was found whole.
type VerifiedLog struct {
	Name               string
	Count, First, Last uint64
	Chain              string
	Skipped            int // events that this version cannot read
}

const (
	// ledgerRows is how many events a page lists.
	ledgerRows = 50
	// mostLookedAt bounds the events that one request of the ledger reads, and mostLookedBytes the size of them in bytes.
	mostLookedAt    = 1500
	mostLookedBytes = 256 << 20
)

// ledgerPages are the pages of the logs.
type ledgerPages struct {
	*web.Site
	ledger Ledger
}

func (s ledgerPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/ledger", domain.MayAudit, s.Share(s.showLedger)),
		web.Get("/ledger/:log/:seq", domain.MayAudit, s.ledgerEvent),
		web.Get("/verify", domain.MayAudit, s.showVerify),
		web.Post("/verify", domain.MayAudit, s.verify),
	}
}

// ledgerFilter is what the query asks for.
type ledgerFilter struct {
	Log, Kind, Name, Type, Actor string
	Exact                        bool // the name is the whole name
	Period                       web.Period
}

type ledgerData struct {
	Filter   ledgerFilter
	Filtered bool
	Logs     []web.Option
	Kinds    []web.Option
	Types    []web.Option // without versions
	Span     LogSpan
	Rows     []ledgerRow
	Newest   bool
	Looked   int
	Next     string // the address where the rows go on; "" at the end
	NewestAt string // the address of the newest
	Full     bool   // the page is full; else the reader has reached the limit of events per request
	// Incomplete explains why events are missing; "" if none is.
	Incomplete string
}

type ledgerRow struct {
	Entry
	Path, Entity string
}

func (s ledgerPages) showLedger(c *gin.Context) error {
	d := ledgerData{Filter: filterOf(c), Kinds: entityKinds(), Types: web.OptionsOf(domain.Verbs()...)}
	for _, l := range s.ledger.Logs() {
		d.Logs = append(d.Logs, web.OptionsOf(l.Name)...)
		if l.Name == d.Filter.Log || d.Span.Name == "" {
			d.Span = l
		}
	}
	d.Filter.Log = d.Span.Name
	status := d.Filter.Period.Status()
	if status == http.StatusOK {
		if err := s.readLedger(c, &d); err != nil {
			return err
		}
	}
	p := web.Page{Title: "Ledger", Data: d}
	if d.Newest {
		p.Live = template.URL("ledger=" + d.Span.Name) //nolint:gosec // a name of ours
	}
	return s.Show(c, status, "ledger", p)
}

func filterOf(c *gin.Context) ledgerFilter {
	text := func(name string) string { return web.FilterText(c, name) }
	return ledgerFilter{text("log"), text("kind"), text("name"), text("type"), text("actor"), c.Query("exact") != "", web.PeriodOf(c)}
}

// entityKinds are those that subjects begin with.
func entityKinds() []web.Option {
	return append(web.Labelled("", "all"), web.OptionsOf("device", "profile", "service", "watcher", "subscription", "user", "token",
		"notification", "command", "cleanup", "retention", "callbacks", "replays", "request", "samples")...)
}

// readLedger reads the rows of a page.
func (s ledgerPages) readLedger(c *gin.Context, d *ledgerData) error {
	f := &d.Filter
	d.Filtered = f.Kind+f.Name+f.Type+f.Actor != "" || f.Period.Given()
	d.Newest = f.Period.To == ""
	d.NewestAt = "/ledger?" + f.query().Encode()
	q := eventlog.Query{Log: d.Span.Name, Filter: f.events(), Limit: ledgerRows, Newest: true, Looks: mostLookedAt, Bytes: mostLookedBytes}
	if at, err := strconv.ParseUint(c.Query("at"), 10, 64); err == nil && at > 0 && at < d.Span.Last {
		q.To, d.Newest = at, false
	}
	if !d.Filtered {
		q.Looks = ledgerRows
	}
	if err := s.Memory(c).Hold(web.LogWork); err != nil {
		return err
	}
	defer s.Memory(c).Release()
	q.Each = func(e eventlog.Event) {
		entry := newEntry(s.ledger, e)
		d.Rows = append(d.Rows, ledgerRow{entry, fmt.Sprintf("/ledger/%s/%d", d.Span.Name, e.Seq), entityPath(entry)})
	}
	page, err := s.ledger.Page(c.Request.Context(), q)
	if err != nil {
		return err
	}
	d.Looked, d.Full, d.Incomplete = page.Looked, len(d.Rows) == ledgerRows, page.Incomplete
	if page.Next > 0 {
		at := f.query()
		at.Set("at", strconv.FormatUint(page.Next, 10))
		d.Next = "/ledger?" + at.Encode()
	}
	return nil
}

// events returns the filter of the events. The texts of type, actor and, unless it is exact, name are parts of theirs.
func (f ledgerFilter) events() eventlog.Filter {
	e := eventlog.Filter{
		Type: eventlog.Containing(f.Type), Actor: eventlog.Containing(f.Actor), Entity: f.Kind, Name: eventlog.Containing(f.Name), AnyCase: true,
	}
	if f.Exact {
		e.Name, e.ExactName = f.Name, true
	}
	if f.Period.From != "" {
		e.Since = f.Period.First
	}
	if f.Period.To != "" {
		e.Until = f.Period.Last.Add(1)
	}
	return e
}

// query is the filter as the query of an address.
func (f ledgerFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"log": f.Log, "kind": f.Kind, "name": f.Name, "type": f.Type, "actor": f.Actor, "from": f.Period.From, "to": f.Period.To,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Exact {
		q.Set("exact", "true")
	}
	return q
}

// entityPath is the page of the entity that an event is about, of a removal the page of its history; "" if there is none.
func entityPath(e Entry) string {
	lists := map[string]string{"user": "/users/"}
	for _, k := range historyKinds {
		lists[k.Entity] = k.Path + "/"
	}
	list, ok := lists[e.Kind]
	removed := strings.HasSuffix(eventlog.VerbOf(e.Type), ".removed")
	switch {
	case !ok || e.Name == "" || removed && e.Kind == "user":
		return ""
	case removed:
		return list + url.PathEscape(e.Name) + "/history"
	}
	return list + url.PathEscape(e.Name)
}

type eventData struct {
	Entry
	Entity        string
	Size          int    // of the data in bytes
	Text          string // the data if it is text
	Cut           bool
	Differences   []difference
	Before, After string // addresses
}

// difference is one value that an event has changed.
type difference struct{ Field, Was, Is string }

func (s ledgerPages) ledgerEvent(c *gin.Context) error {
	log := c.Param("log")
	seq, err := strconv.ParseUint(c.Param("seq"), 10, 64)
	spans := s.ledger.Logs()
	at := slices.IndexFunc(spans, func(l LogSpan) bool { return l.Name == log })
	if err != nil || at < 0 {
		return s.ShowError(c, http.StatusNotFound, "There is no such event. Choose one from the ledger.")
	}
	var e eventlog.Event
	if err = s.Memory(c).Hold(web.LogWork); err == nil {
		e, err = s.ledger.Event(c.Request.Context(), log, seq)
	}
	if domain.CodeOf(err) == domain.NotFound {
		return s.ShowError(c, http.StatusNotFound, web.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	data := e.Wire.Data
	begin := data[:min(len(data), MostEntryData)]
	entry := newEntry(s.ledger, e)
	d := eventData{Entry: entry, Entity: entityPath(entry), Size: len(data), Text: readable(begin, len(data))}
	d.Cut = len(data) > len(begin)
	d.Differences = differences(changesIn(data), eventBounds, indented, nil)
	if seq > spans[at].First {
		d.Before = fmt.Sprintf("/ledger/%s/%d", log, seq-1)
	}
	if seq < spans[at].Last {
		d.After = fmt.Sprintf("/ledger/%s/%d", log, seq+1)
	}
	s.Memory(c).Release()
	return s.Show(c, http.StatusOK, "event", web.Page{Title: fmt.Sprintf("Event %d", seq), Data: d})
}

func (s ledgerPages) verify(c *gin.Context) error {
	s.ledger.Verify(web.ActorOf(c))
	return s.Redirect(c, "/verify")
}

func (s ledgerPages) showVerify(c *gin.Context) error {
	return s.Show(c, http.StatusOK, "verify", web.Page{Title: "Verify", Data: s.ledger.Verification()})
}

// differenceBounds are the most rows of differences, the most bytes of one value, and about the most bytes of all.
type differenceBounds struct{ rows, value, all int }

// eventBounds are those of the page of an event.
var eventBounds = differenceBounds{rows: 500, value: 4 << 10, all: 128 << 10}

// shortened is a text that fits into a row.
func shortened(text string) string { return web.Beginning(text, eventBounds.value) }

// differences makes a row of each value that differs, but of those at the paths without. text shows a value.
func differences(changes domain.Changes, most differenceBounds, text func(json.RawMessage) string, without []string) (rows []difference) {
	bytes := 0
	for leaf := range changes.Leaves() {
		if slices.Contains(without, leaf.Path) {
			continue
		}
		if len(rows) == most.rows || bytes > most.all {
			return append(rows, difference{Field: "…", Is: "more is not shown"})
		}
		begin := func(text string) string { return web.Beginning(text, most.value) }
		one := difference{begin(leaf.Path), begin(text(leaf.Was)), begin(text(leaf.Is))}
		bytes += len(one.Field) + len(one.Was) + len(one.Is)
		rows = append(rows, one)
	}
	return rows
}

// indented is a JSON value for people; "" if there is none.
func indented(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// readable is the beginning of the data of an event if it is text; JSON is indented. size is that of all data.
func readable(data []byte, size int) string {
	if size == len(data) && json.Valid(data) {
		return indented(data)
	}
	if utf8.Valid(data) {
		return string(data)
	}
	return ""
}

// changesIn finds what an event says it has changed.
func changesIn(data []byte) domain.Changes {
	var e struct {
		Changes domain.Changes `json:"changes"`
	}
	_ = json.Unmarshal(data, &e) // an event without changes has none
	return e.Changes
}
