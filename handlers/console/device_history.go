package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const (
	// mostVersions is how many changes of a device a page goes back, one event after the other. Earlier ones are in the ledger.
	mostVersions = 250
	// mostFields bounds the differences that are shown of one change.
	mostFields = 100
	// historyRows is how many changes a page shows.
	historyRows = 25
)

// deviceChange is an event of a device.
type deviceChange struct {
	Seq           uint64
	At            int64 // in milliseconds since the Unix epoch
	Actor, Origin string
	What          string
	Fields        []fieldChange
}

// fieldChange is a field with its value before and after.
type fieldChange struct{ Name, Was, Is string }

// historyData is what a device was.
type historyData struct {
	Name    string
	Changes []deviceChange // on this page, the newest first
	Newer   bool           // there is a page before
	Older   uint64         // where the next page begins
	// End says why there are no earlier changes, where the device was not added then.
	End string

	// Versions is how many versions can be looked at, Version the one that is shown: 1 is the oldest.
	Versions, Version int
	Then              *deviceChange // the change that made the version
	Device            domain.Device
	Facts             []fact
	// At is the time that was asked for; Before is that the device was not there.
	At     string
	Before bool
}

// Link is an address of the device.
func (h historyData) Link(below string) string { return "/devices/" + url.PathEscape(h.Name) + below }

// fact is a field of a device; Now is its value today, where that is another.
type fact struct {
	Name, Value, Now string
	Differs          bool
}

func (s *Console) showDeviceHistory(c *gin.Context) {
	device, revision, ok := s.device(c.Param("name"))
	if !ok {
		s.noDevice(c)
		return
	}
	h := historyData{Name: device.Name, At: c.Query("at")}
	events, end, err := s.versions(c.Request.Context(), device.Name, revision)
	if err != nil {
		s.fail(c, err)
		return
	}
	h.End = end
	h.page(events, c.Query("before"))
	message := h.choose(events, c.Query("version"), c.Query("seq"))
	h.reconstruct(events, device)
	s.show(c, http.StatusOK, "device_history", Page{Title: "History of " + device.Name, Message: message, Data: h})
}

// versions are the events of a device, the newest first, each of which names the one before. end says why there are none before them.
func (s *Console) versions(ctx context.Context, name string, seq uint64) (events []domain.Recorded, end string, err error) {
	for len(events) < mostVersions {
		r, ok, err := s.Changes.At(ctx, seq)
		if err != nil {
			return nil, "", err
		}
		subject := r.Event
		if !ok || subject == nil || len(subject.Subject()) < 2 || subject.Subject()[1] != name {
			return events, "Earlier changes are in an archive of the log.", nil
		}
		events = append(events, r)
		switch e := r.Event.(type) {
		case domain.DeviceAdded:
			return events, "", nil
		case domain.DevicePatched:
			seq = e.Prev
		default:
			seq = 0
		}
		if seq == 0 {
			return events, "Earlier changes were recorded by an older version; the ledger has them.", nil
		}
	}
	return events, fmt.Sprintf("These are the last %d changes. The ledger has the earlier ones.", mostVersions), nil
}

// page chooses the changes to list: those before a sequence.
func (h *historyData) page(events []domain.Recorded, before string) {
	from := 0
	if seq, err := strconv.ParseUint(before, 10, 64); err == nil {
		from = max(0, slices.IndexFunc(events, func(r domain.Recorded) bool { return r.Seq < seq }))
	}
	h.Newer = from > 0
	to := min(len(events), from+historyRows)
	for _, r := range events[from:to] {
		h.Changes = append(h.Changes, changeOf(r))
	}
	if to < len(events) {
		h.Older = events[to-1].Seq
	}
}

func changeOf(r domain.Recorded) deviceChange {
	d := deviceChange{Seq: r.Seq, At: r.At.UnixMilli(), Actor: r.Actor, Origin: r.Origin}
	switch e := r.Event.(type) {
	case domain.DeviceAdded:
		d.What = "added"
		for _, f := range factsOf(e.Device) {
			d.Fields = append(d.Fields, fieldChange{Name: f.Name, Is: f.Value})
		}
	case domain.DevicePatched:
		d.What = "changed"
		d.Fields = fieldsOf("", e.Changes, nil)
	case domain.DeviceUpdated:
		d.What = "changed"
		for _, name := range e.Changed {
			d.Fields = append(d.Fields, fieldChange{Name: name})
		}
	}
	return d
}

// fieldsOf lists differences by the paths of their values.
func fieldsOf(path string, changes domain.Changes, all []fieldChange) []fieldChange {
	names := changes.Names()
	slices.Sort(names)
	for _, name := range names {
		if len(all) == mostFields {
			return append(all, fieldChange{Name: "…"})
		}
		d := changes[name]
		below := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case len(d.In) > 0:
			all = fieldsOf(below, d.In, all)
		case d.At != nil:
			all = append(all, fieldChange{fmt.Sprintf("%s from %d on", below, *d.At), plainJSON(d.Was), plainJSON(d.Is)})
		default:
			all = append(all, fieldChange{below, plainJSON(d.Was), plainJSON(d.Is)})
		}
	}
	return all
}

// plainJSON is a JSON value as a text; a string is without its quotes.
func plainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// choose finds the version to show: by its number, by the sequence of its change, or by a time; else the one of now. It returns what is
// wrong with the time.
func (h *historyData) choose(events []domain.Recorded, version, seq string) (message string) {
	h.Versions = len(events)
	h.Version = h.Versions
	if n, err := strconv.Atoi(version); err == nil {
		h.Version = min(max(n, 1), h.Versions)
		return ""
	}
	if n, err := strconv.ParseUint(seq, 10, 64); err == nil {
		if i := slices.IndexFunc(events, func(r domain.Recorded) bool { return r.Seq <= n }); i >= 0 {
			h.Version = h.Versions - i
		}
		return ""
	}
	if h.At == "" {
		return ""
	}
	at, err := parseTime(h.At)
	if err != nil {
		return "The time cannot be read. Write it as 2006-01-02T15:04, in UTC."
	}
	i := slices.IndexFunc(events, func(r domain.Recorded) bool { return !r.At.After(at) })
	if i < 0 {
		h.Version, h.Before = 0, true
		return ""
	}
	h.Version = h.Versions - i
	return ""
}

// parseTime reads a time in UTC, as the inputs of pages give it. A minute or a second is meant to its end.
func parseTime(text string) (time.Time, error) {
	if t, err := time.Parse("2006-01-02T15:04", text); err == nil {
		return t.Add(time.Minute - time.Millisecond), nil
	}
	if t, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
		return t.Add(time.Second - time.Millisecond), nil
	}
	return time.Parse(time.RFC3339, text)
}

// reconstruct makes the device as it was: changes are taken back from the device as it is, the newest first.
func (h *historyData) reconstruct(events []domain.Recorded, now domain.Device) {
	if h.Before || h.Versions == 0 {
		return
	}
	at := h.Versions - h.Version
	device := now
	for _, r := range events[:at] {
		if e, ok := r.Event.(domain.DevicePatched); ok {
			device = domain.Before(e.Update, device)
		}
	}
	switch e := events[at].Event.(type) {
	case domain.DeviceAdded:
		device = e.Device
	case domain.DeviceUpdated:
		device = e.Device
	case domain.DevicePatched:
		device.Modified = e.Modified
	}
	then := changeOf(events[at])
	h.Then, h.Device, h.Facts = &then, device, factsOf(device)
	for i, f := range factsOf(now) {
		h.Facts[i].Now, h.Facts[i].Differs = f.Value, f.Value != h.Facts[i].Value
	}
}

// factsOf lists the fields of a device.
func factsOf(d domain.Device) []fact {
	text := func(v any) string {
		if b, err := json.Marshal(v); err == nil && string(b) != "null" {
			return string(b)
		}
		return ""
	}
	return []fact{
		{Name: "description", Value: d.Description}, {Name: "adminState", Value: d.AdminState}, {Name: "operatingState", Value: d.OperatingState},
		{Name: "labels", Value: strings.Join(d.Labels, ", ")}, {Name: "profileName", Value: d.ProfileName}, {Name: "serviceName", Value: d.ServiceName},
		{Name: "protocolName", Value: d.ProtocolName}, {Name: "protocols", Value: text(d.Protocols)}, {Name: "autoEvents", Value: text(d.AutoEvents)},
		{Name: "location", Value: string(d.Location)},
	}
}
