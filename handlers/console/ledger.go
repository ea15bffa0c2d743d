package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// Ledger reads the logs and verifies them.
type Ledger interface {
	// Logs are all logs with what is on them.
	Logs() []LogSpan
	// Back calls each for the events of a log from a sequence on backwards, the newest first, until each returns false, at most so many
	// of them, or the log begins. next is the sequence where a reader goes on; 0 if the log begins.
	Back(ctx context.Context, log string, from uint64, most int, each func(Entry) bool) (next uint64, err error)
	// Entry returns one event with its data; ok is false if it is not on the log.
	Entry(ctx context.Context, log string, seq uint64) (e Entry, ok bool, err error)
	// Since returns the first sequence that was recorded at a time or later, or the one after the last.
	Since(ctx context.Context, log string, at time.Time) (uint64, error)
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

// Entry is an event on a log.
type Entry struct {
	Log   string // its name
	Seq   uint64
	Stamp domain.Stamp
	Type  string // such as device.added/1
	// Subject is that of the log: of most events the kind of the entity, its name and what happened to it; of readings the profile, the
	// device and the resource.
	Subject []string
	// Explain decodes the event. detail is what is worth a look at once; undecodable says why this version cannot read the event, "" if it can.
	Explain             func() (detail, undecodable string)
	Detail, Undecodable string // set by explain

	// The rest is set by [Ledger.Entry] only.
	Headers     [][2]string
	ContentType string
	Data        []byte // not longer than MostEntryData
	Size        int    // of the whole data
	Changes     domain.Changes
	Chain       string // in hexadecimal digits, as computed from the event and the one before
}

// explain decodes the event, and frees its data.
func (e *Entry) explain() {
	e.Detail, e.Undecodable = e.Explain()
	e.Explain = nil
}

// MostEntryData is how much of the data of one event is shown, in bytes.
const MostEntryData = 64 << 10

// Verification is a check of all logs.
type Verification struct {
	Running        bool
	Actor          string
	Started, Ended int64 // in milliseconds since the Unix epoch
	Done, Total    uint64
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

// Percent is how much is done.
func (v Verification) Percent() uint64 {
	if v.Total == 0 {
		return 0
	}
	return min(100, 100*v.Done/v.Total)
}

const (
	// ledgerRows is how many events a page lists.
	ledgerRows = 50
	// mostLookedAt bounds the events that one request of the ledger reads.
	mostLookedAt = 2000
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
	Period                       web.Period
}

type ledgerData struct {
	Filter   ledgerFilter
	Filtered bool
	Logs     []web.Option
	Kinds    []web.Option
	Span     LogSpan
	Rows     []ledgerRow
	Newest   bool
	Looked   int
	Next     string // the address where the rows go on; "" at the end
	NewestAt string // the address of the newest
	Full     bool   // the page is full; else the reader has reached the limit of events per request
}

type ledgerRow struct {
	Entry
	Path, Entity string
}

func (s ledgerPages) showLedger(c *gin.Context) error {
	d := ledgerData{Filter: filterOf(c), Kinds: entityKinds()}
	for _, l := range s.ledger.Logs() {
		d.Logs = append(d.Logs, web.OptionsOf(l.Name)...)
		if l.Name == d.Filter.Log || d.Span.Name == "" {
			d.Span = l
		}
	}
	d.Filter.Log = d.Span.Name
	status := d.Filter.Period.Status()
	if status == http.StatusOK {
		start, err := s.ledgerStart(c, &d)
		if err == nil {
			err = s.readLedger(c, &d, start)
		}
		if err != nil {
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
	return ledgerFilter{text("log"), text("kind"), text("name"), text("type"), text("actor"), web.PeriodOf(c)}
}

// entityKinds are those that subjects begin with.
func entityKinds() []web.Option {
	return append(web.Labelled("", "all"), web.OptionsOf("device", "profile", "service", "watcher", "subscription", "user", "token",
		"notification", "cleanup", "callbacks", "replays", "request")...)
}

// ledgerStart is the sequence that the rows begin at, 0 if there is none.
func (s ledgerPages) ledgerStart(c *gin.Context, d *ledgerData) (uint64, error) {
	f := &d.Filter
	d.Filtered = f.Kind+f.Name+f.Type+f.Actor != "" || f.Period.Given()
	start := d.Span.Last
	d.Newest = true
	if f.Period.To != "" {
		next, err := s.ledger.Since(c.Request.Context(), d.Span.Name, f.Period.Last)
		if err != nil {
			return 0, err
		}
		start, d.Newest = min(start, max(next, 1)-1), false
	}
	if at, err := strconv.ParseUint(c.Query("at"), 10, 64); err == nil && at < start {
		start, d.Newest = at, false
	}
	return start, nil
}

func (s ledgerPages) readLedger(c *gin.Context, d *ledgerData, start uint64) error {
	d.NewestAt = "/ledger?" + d.Filter.query().Encode()
	if start == 0 {
		return nil
	}
	if err := s.Memory(c).Hold(web.LogWork); err != nil {
		return err
	}
	defer s.Memory(c).Release()
	most := mostLookedAt
	if !d.Filtered {
		most = ledgerRows
	}
	var stop uint64
	next, err := s.ledger.Back(c.Request.Context(), d.Span.Name, start, most, func(e Entry) bool {
		d.Looked++
		if e.Stamp.At.Before(d.Filter.Period.First) {
			stop = e.Seq
			return false
		}
		if d.Filter.keeps(e) {
			e.explain()
			d.Rows = append(d.Rows, ledgerRow{e, fmt.Sprintf("/ledger/%s/%d", d.Span.Name, e.Seq), entityPath(e)})
		}
		return len(d.Rows) < ledgerRows
	})
	if err != nil {
		return err
	}
	d.Full = len(d.Rows) == ledgerRows
	if next > 0 && stop == 0 {
		q := d.Filter.query()
		q.Set("at", strconv.FormatUint(next, 10))
		d.Next = "/ledger?" + q.Encode()
	}
	return nil
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
	return q
}

// keeps reports whether an event passes the filter.
func (f ledgerFilter) keeps(e Entry) bool {
	kind, name := subjectOf(e)
	has := func(text, part string) bool {
		return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
	}
	return (f.Kind == "" || f.Kind == kind) && has(name, f.Name) && has(e.Type, f.Type) && has(e.Stamp.Actor, f.Actor)
}

// subjectOf is what an event is about. A reading is about its device.
func subjectOf(e Entry) (kind, name string) {
	if len(e.Subject) < 2 {
		return strings.Join(e.Subject, " "), ""
	}
	switch kind, name = e.Subject[0], e.Subject[1]; {
	case e.Log == "readings" && strings.HasSuffix(e.verb(), "ed") && len(e.Subject) == 3 && !strings.HasPrefix(e.Type, "events."):
		kind = "device"
	case e.Log == "notifications" && kind != "cleanup":
		kind = "notification"
	}
	return kind, name
}

// Kind is the kind of the entity that the event is about.
func (e Entry) Kind() string { kind, _ := subjectOf(e); return kind }

// Name is the name of that entity.
func (e Entry) Name() string { _, name := subjectOf(e); return name }

// What is what has happened, such as device added.
func (e Entry) What() string { return strings.ReplaceAll(e.verb(), ".", " ") }

// verb is the type without its version.
func (e Entry) verb() string { what, _, _ := strings.Cut(e.Type, "/"); return what }

// Resource is that of a reading; "" if there is none.
func (e Entry) Resource() string {
	if e.Log == "readings" && len(e.Subject) == 3 && e.Kind() == "device" {
		return e.Subject[2]
	}
	return ""
}

// entityPath is the page of the entity that an event is about, of a removal the page of its history; "" if there is none.
func entityPath(e Entry) string {
	lists := map[string]string{"user": "/users/"}
	for _, k := range historyKinds {
		lists[k.Entity] = k.Path + "/"
	}
	kind, name := subjectOf(e)
	list, ok := lists[kind]
	removed := strings.HasSuffix(e.verb(), ".removed")
	switch {
	case !ok || name == "" || removed && kind == "user":
		return ""
	case removed:
		return list + url.PathEscape(name) + "/history"
	}
	return list + url.PathEscape(name)
}

type eventData struct {
	Entry
	Entity        string
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
	var e Entry
	var ok bool
	if err = s.Memory(c).Hold(web.LogWork); err == nil {
		e, ok, err = s.ledger.Entry(c.Request.Context(), log, seq)
	}
	if err != nil {
		return err
	}
	if !ok {
		return s.ShowError(c, http.StatusNotFound,
			fmt.Sprintf("Event %d is not on the log of %s: it has %d to %d.", seq, log, spans[at].First, spans[at].Last))
	}
	e.explain()
	d := eventData{Entry: e, Entity: entityPath(e), Text: readable(e), Cut: e.Size > len(e.Data)}
	d.Differences = differences(e.Changes, eventBounds, indented, nil)
	if seq > spans[at].First {
		d.Before = fmt.Sprintf("/ledger/%s/%d", log, seq-1)
	}
	if seq < spans[at].Last {
		d.After = fmt.Sprintf("/ledger/%s/%d", log, seq+1)
	}
	d.Data, d.Changes = nil, domain.Changes{}
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

// readable is the data of an event if it is text; JSON is indented.
func readable(e Entry) string {
	if e.Size == len(e.Data) && json.Valid(e.Data) {
		return indented(e.Data)
	}
	if utf8.Valid(e.Data) {
		return string(e.Data)
	}
	return ""
}
