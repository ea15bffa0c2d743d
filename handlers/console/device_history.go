package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	past "ledge/domain/history"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostBack is how many changes the slider goes back.
	mostBack = 250
	// mostUndone is how many events of the log a page reads to show the device as it was, which takes about two seconds.
	mostUndone = 20_000
	// mostFields bounds the differences that are shown of one change, mostFieldText the bytes of one value in them, and mostChangeText about
	// the bytes of all.
	mostFields, mostFieldText, mostChangeText = 100, 1 << 10, 8 << 10
	// mostStateLook is how many changes the page of a device goes back for the one that set the admin state.
	mostStateLook = 20
	// historyRows is how many changes a page shows.
	historyRows = 25
)

// history reads the changes of devices.
type history struct {
	changes Changes
	state   entities.Reader // nil: the removals of a name are not known
}

// deviceHistory is the page of a device's changes.
type deviceHistory struct {
	devices
	history history
}

func (s deviceHistory) Routes() []web.Route {
	return []web.Route{web.Get("/devices/:name/history", domain.MayRead, s.showDeviceHistory)}
}

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

// historyData is a device as it was at some time, and a page of its changes.
type historyData struct {
	Name    string
	Changes []deviceChange // on this page, the newest first
	Newer   bool           // there is a page before
	Older   uint64         // the event that the next page begins with
	// End says why the list ends before the event that added the device.
	End string

	// Slider is how many changes the slider goes back, Back the number of changes since the version that is shown.
	Slider, Back int
	Then         *deviceChange // the change that made the version; nil if it was not found
	Device       domain.Device
	Facts        []fact
	// At is the time in the request; Missing says why there is no version.
	At, Missing string
	// Further is the change at which the page stopped; 0 unless it reached its limit.
	Further uint64
}

// Link is an address of the device.
func (h historyData) Link(below string) string { return "/devices/" + url.PathEscape(h.Name) + below }

// fact is a field of a device; Now is its value today, Differs whether that is another.
type fact struct {
	Name, Value, Now string
	Differs          bool
}

func (s deviceHistory) showDeviceHistory(c *gin.Context) error {
	device, revision, err := s.device(c, c.Param("name"))
	if err == nil {
		err = s.Memory(c).Hold(web.LogWork) // for the device, too
	}
	if err != nil {
		return err
	}
	h := historyData{Name: strings.Clone(device.Name), At: c.Query("at")}
	from, wrong := strconv.ParseUint(c.Query("from"), 10, 64)
	if h.Newer = wrong == nil && from < revision; !h.Newer {
		from = revision
	}
	wanted, message := h.wanted(c.Query("back"), c.Query("seq"))
	err = s.history.list(c.Request.Context(), &h, from)
	if err == nil {
		err = s.history.version(c.Request.Context(), &h, device, revision, wanted)
	}
	if err != nil {
		return err
	}
	h.Device = domain.Device{}
	s.Memory(c).Release()
	return s.Show(c, http.StatusOK, "device_history", web.Page{Title: "History of " + h.Name, Message: message, Data: h})
}

// walk goes from an event of a device to the ones before it.
func (s history) walk(name string, seq uint64) *past.Walk {
	w := &past.Walk{Log: s.changes, Kind: past.Kinds["device"], Name: name, Next: seq}
	if s.state != nil {
		view, done := s.state()
		defer done()
		w.Lives = w.Kind.Lives(view.State, name)
	}
	return w
}

// ends are the reasons why a list ends before the event that added the device.
var ends = map[past.End]string{
	past.Unnamed: "Earlier changes were recorded by an older version; the ledger has them.",
	past.Unread:  "Earlier changes are in an archive of the log.",
}

// list reads the changes of a page, each of which names the one before.
func (s history) list(ctx context.Context, h *historyData, seq uint64) error {
	walk := s.walk(h.Name, seq)
	for len(h.Changes) < historyRows {
		c, ok, err := walk.Step(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		h.Changes = append(h.Changes, changeOf(c.Recorded))
	}
	h.End, h.Older = ends[walk.End], walk.Next
	return nil
}

// wanted returns a function that recognizes the version to show: a number of changes back, at a sequence, at a time, or now. message is the
// error of the time.
func (h *historyData) wanted(back, seq string) (wanted func(domain.Recorded) bool, message string) {
	if n, err := strconv.Atoi(strings.TrimPrefix(back, "-")); err == nil {
		return func(domain.Recorded) bool { return h.Back >= n }, ""
	}
	if n, err := strconv.ParseUint(seq, 10, 64); err == nil {
		return func(r domain.Recorded) bool { return r.Seq <= n }, ""
	}
	now := func(domain.Recorded) bool { return true }
	if h.At == "" {
		return now, ""
	}
	_, at, wrong := web.ReadTime(h.At)
	if wrong != "" {
		return now, wrong
	}
	return func(r domain.Recorded) bool { return !r.At.After(at) }, ""
}

// version finds the wanted version of a device. It takes the changes back, newest first, and counts how far the slider goes.
func (s history) version(ctx context.Context, h *historyData, now domain.Device, seq uint64, wanted func(domain.Recorded) bool) error {
	var device any = now
	walk := s.walk(h.Name, seq)
	for n := 0; ; n++ {
		if h.Then == nil && n == mostUndone {
			h.Missing, h.Further = fmt.Sprintf("This is more than %d changes ago. One page goes back no further.", mostUndone), walk.Next
		}
		if n > mostBack && (h.Then != nil || h.Missing != "") {
			return nil
		}
		c, ok, err := walk.Step(ctx)
		if err != nil {
			return err
		}
		if !ok {
			if h.Then == nil {
				h.Missing = "At this time the device did not exist. " + cmp.Or(ends[walk.End], "It was added later.")
			}
			return nil
		}
		h.Slider = min(n, mostBack)
		if h.Then == nil {
			h.Back = n
			device = c.After(device)
			if then, ok := device.(domain.Device); ok && wanted(c.Recorded) {
				h.show(c.Recorded, then, now)
			} else if wanted(c.Recorded) {
				h.Missing = "At this time the device did not exist: it was removed, and added again later."
				return nil
			}
			device = c.Before(device)
		}
	}
}

// show is the version of a device that r made; now is the device of today.
func (h *historyData) show(r domain.Recorded, device, now domain.Device) {
	then := changeOf(r)
	h.Then, h.Device, h.Facts = &then, device, factsOf(device)
	for i, f := range factsOf(now) {
		then := &h.Facts[i]
		then.Differs = f.Value != then.Value
		then.Value, then.Now = shortened(then.Value), shortened(f.Value)
	}
}

// stateChange is the change that set the admin state of a device. If it is too far back, Before is the time of the oldest change read.
type stateChange struct {
	Actor      string
	At, Before int64 // in milliseconds since the Unix epoch
	Added      bool  // the device has had the state since it was added
}

// stateSet finds the change that set the admin state, from the event that made the version of today on backwards.
func (s history) stateSet(ctx context.Context, name string, seq uint64) (set stateChange, err error) {
	walk := s.walk(name, seq)
	for range mostStateLook {
		c, ok, err := walk.Step(ctx)
		if err != nil || !ok {
			return set, err
		}
		if added := c.Verb == past.Added; added || setsState(c) {
			return stateChange{Actor: strings.TrimPrefix(c.Actor, "user:"), At: c.At.UnixMilli(), Added: added}, nil
		}
		set.Before = c.At.UnixMilli()
	}
	return set, nil
}

// setsState reports whether a change of a device set its admin state.
func setsState(c past.Change) bool { return slices.Contains(c.Fields, "adminState") }

func changeOf(r domain.Recorded) deviceChange {
	d := deviceChange{Seq: r.Seq, At: r.At.UnixMilli(), Actor: r.Actor, Origin: r.Origin}
	switch e := r.Event.(type) {
	case domain.DeviceAdded:
		d.What = "added"
		for _, f := range factsOf(e.Device) {
			d.Fields = append(d.Fields, fieldChange{Name: f.Name, Is: web.Beginning(f.Value, mostFieldText)})
		}
	case domain.DevicePatched:
		d.What = "changed"
		d.Fields = fieldsOf(e.Changes)
	case domain.DeviceRemoved:
		d.What = "removed"
	case domain.DeviceUpdated:
		d.What = "changed"
		for _, name := range e.Changed {
			d.Fields = append(d.Fields, fieldChange{Name: name})
		}
	}
	return d
}

// fieldsOf lists differences by the paths of their values.
func fieldsOf(changes domain.Changes) (all []fieldChange) {
	bytes := 0
	for leaf := range changes.Leaves() {
		if len(all) == mostFields || bytes > mostChangeText {
			return append(all, fieldChange{Name: "…"})
		}
		begin := func(text string) string { return web.Beginning(text, mostFieldText) }
		one := fieldChange{begin(leaf.Path), begin(plainJSON(leaf.Was)), begin(plainJSON(leaf.Is))}
		bytes += len(one.Name) + len(one.Was) + len(one.Is)
		all = append(all, one)
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

// factsOf lists the fields of a device.
func factsOf(d domain.Device) []fact {
	text := func(v any) string {
		if b, err := json.Marshal(v); err == nil && string(b) != "null" {
			return string(b)
		}
		return ""
	}
	return []fact{
		{Name: "description", Value: d.Description},
		{Name: "adminState", Value: d.AdminState},
		{Name: "operatingState", Value: d.OperatingState},
		{Name: "labels", Value: strings.Join(d.Labels, ", ")},
		{Name: "profileName", Value: d.ProfileName},
		{Name: "serviceName", Value: d.ServiceName},
		{Name: "protocolName", Value: d.ProtocolName},
		{Name: "protocols", Value: text(d.Protocols)},
		{Name: "autoEvents", Value: text(d.AutoEvents)},
		{Name: "location", Value: string(d.Location)},
	}
}
