package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	past "ledge/domain/history"
	"ledge/handlers/answers"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

const (
	// mostBack is how many changes the slider goes back.
	mostBack = 250
	// mostUndone is how many events of the log a page reads to show an entity as it was, which takes about two seconds.
	mostUndone = 20_000
	// mostFields bounds the differences that are shown of one change, mostFieldText the bytes of one value in them, and mostChangeText about
	// the bytes of all.
	mostFields, mostFieldText, mostChangeText = 100, 1 << 10, 8 << 10
	// mostStateLook is how many changes the page of a device goes back for the one that set the admin state.
	mostStateLook = 20
	// historyRows is how many changes a page shows.
	historyRows = 25
)

// history reads the changes of entities.
type history struct {
	changes Changes
	state   entities.Reader // nil: the removals of a name are not known
}

// historyKind is a kind of entity with a history. Entity is its name in events, One in words, and Path the path of its list.
type historyKind struct {
	Entity, One, Path string
	List              string // the name of the list in the menu
	// A request that changes an entity goes to the path api of service, and has the entity in the member key. replaced says that it has
	// all fields.
	service, api, key string
	replaced          bool
	// read returns an entity of the state with its revision; nil if it does not exist.
	read func(m *answers.Memory, state entities.Reader, name string) (entity any, revision uint64, err error)
}

// newHistoryKind returns k with the function that reads its entities.
func newHistoryKind[S any](k historyKind, kind entities.Kind[S]) historyKind {
	k.List = strings.ToUpper(k.Path[1:2]) + k.Path[2:]
	k.read = func(m *answers.Memory, state entities.Reader, name string) (any, uint64, error) {
		var s S
		row, err := entities.LookUp(m, state, kind.Table, name, &s)
		if err != nil || !row.OK {
			return nil, 0, err
		}
		return s, row.Revision, nil
	}
	return k
}

var historyKinds = []historyKind{
	newHistoryKind(historyKind{
		Entity: "device", One: "device", Path: "/devices", service: metadataService, api: "device", key: "device",
	}, entities.Devices),
	newHistoryKind(historyKind{
		Entity: "profile", One: "profile", Path: "/profiles",
		service: metadataService, api: "deviceprofile", key: "profile", replaced: true,
	}, entities.Profiles),
	newHistoryKind(historyKind{
		Entity: "service", One: "device service", Path: "/services", service: metadataService, api: "deviceservice", key: "service",
	}, entities.Services),
	newHistoryKind(historyKind{
		Entity: "watcher", One: "provision watcher", Path: "/watchers",
		service: metadataService, api: "provisionwatcher", key: "provisionWatcher",
	}, entities.Watchers),
	newHistoryKind(historyKind{
		Entity: "subscription", One: "subscription", Path: "/subscriptions",
		service: notificationsService, api: "subscription", key: "subscription",
	}, entities.Subscriptions),
}

// address returns the address of an entity's page.
func (k historyKind) address(name string) string { return k.Path + "/" + url.PathEscape(name) }

// historyPages are the pages of the changes of entities, also of removed ones.
type historyPages struct {
	*web.Site
	history history
}

func (s historyPages) Routes() (routes []web.Route) {
	for _, k := range historyKinds {
		routes = append(routes, web.Get(k.Path+"/:name/history", domain.MayRead, func(c *gin.Context) error { return s.showHistory(c, k) }))
	}
	return routes
}

// entityChange is an event of an entity.
type entityChange struct {
	Seq           uint64
	At            int64 // in milliseconds since the Unix epoch
	Actor, Origin string
	What          string // added, updated or removed
	Removal       bool   // the change has no version after it
	Fields        []difference
}

// historyData is an entity as it was at some time, and a page of its changes.
type historyData struct {
	historyKind
	Name    string
	Address string // of the entity's page
	Removed bool
	Latest  uint64         // the last event
	Changes []entityChange // on this page, the newest first
	Newer   bool           // there is a page before
	Older   uint64         // the event that the next page begins with
	// End says why the list ends before the event that added the entity.
	End string

	// Slider is how many changes the slider goes back, Back the number of changes since the version that is shown.
	Slider, Back int
	Then         *entityChange // the change that made the version; nil if it was not found
	Facts        []fact
	// At is the time in the request; Missing says why there is no version.
	At, Missing string
	// Further is the change at which the page stopped; 0 unless it reached its limit.
	Further uint64

	hide bool // the addresses of actors
}

// fact is a field of an entity; Now is its value today, Differs whether that is another.
type fact struct {
	Name, Value, Now string
	Differs          bool
}

// readLatest returns the entity of a name, nil if it is removed, and the sequence of its last event.
func (s historyPages) readLatest(c *gin.Context, k historyKind, name string) (entity any, last uint64, err error) {
	entity, last, err = k.read(s.Memory(c), s.history.state, name)
	if err == nil && entity == nil {
		last = s.history.lives(past.Kinds[k.Entity], name).Last
	}
	if err == nil && last == 0 {
		err = domain.Errorf(domain.NotFound, "There is no %s %.80q. It may have been deleted.", k.One, name)
	}
	if err == nil {
		err = s.Memory(c).Hold(web.LogWork) // for the entity, too
	}
	return entity, last, err
}

func (s historyPages) showHistory(c *gin.Context, k historyKind) error {
	name := strings.Clone(c.Param("name"))
	entity, last, err := s.readLatest(c, k, name)
	if err != nil {
		return err
	}
	h := historyData{
		historyKind: k, Name: name, Address: k.address(name), Removed: entity == nil, Latest: last, At: c.Query("at"), hide: !mayAudit(c),
	}
	from, wrong := strconv.ParseUint(c.Query("from"), 10, 64)
	if h.Newer = wrong == nil && from < last; !h.Newer {
		from = last
	}
	wanted, message := h.wanted(c.Query("back"), c.Query("seq"))
	err = s.history.list(c.Request.Context(), &h, from)
	if err == nil {
		err = s.history.version(c.Request.Context(), &h, entity, last, wanted)
	}
	if err != nil {
		return err
	}
	s.Memory(c).Release()
	page := web.Page{Title: "History of " + h.Name, Message: message, Data: h}
	if !h.Newer {
		page.Live = template.URL(k.Path[1:] + "=" + url.QueryEscape(h.Name)) //nolint:gosec // escaped
	}
	return s.Show(c, http.StatusOK, "history", page)
}

// mayAudit reports whether the user may see the addresses of actors.
func mayAudit(c *gin.Context) bool {
	u, _ := web.User(c)
	return u.Role.May(domain.MayAudit)
}

// removedData is the removal of an entity.
type removedData struct {
	One, Name, History string
	// Change is the event; nil if it cannot be read.
	Change *entityChange
}

// withRemoved returns the route of an entity's page that says of a removed entity that it was removed. It returns other routes as they are.
func (s historyPages) withRemoved(r web.Route) web.Route {
	at := slices.IndexFunc(historyKinds, func(k historyKind) bool { return r.Method == http.MethodGet && r.Path == k.Path+"/:name" })
	if at < 0 {
		return r
	}
	handle := r.Handle
	r.Handle = func(c *gin.Context) error {
		err := handle(c)
		if domain.CodeOf(err) != domain.NotFound {
			return err
		}
		k, name := historyKinds[at], c.Param("name")
		lives := s.history.lives(past.Kinds[k.Entity], name)
		if lives.Last == 0 {
			return err
		}
		d := removedData{One: k.One, Name: name, History: k.address(name) + "/history"}
		err = s.Memory(c).Hold(web.LogWork)
		if err == nil {
			d.Change, err = s.history.removal(c, k, name, lives.Last)
		}
		if err != nil {
			return err
		}
		return s.Show(c, http.StatusNotFound, "removed", web.Page{Title: name + " was removed", Data: d})
	}
	return r
}

// removal returns the removal at a sequence; nil if it cannot be read.
func (s history) removal(c *gin.Context, k historyKind, name string, seq uint64) (*entityChange, error) {
	change, ok, err := s.walk(past.Kinds[k.Entity], name, seq).Step(c.Request.Context())
	if err != nil || !ok {
		return nil, err
	}
	e := changeOf(change, !mayAudit(c))
	return &e, nil
}

// lives returns the removals of a name.
func (s history) lives(kind past.Kind, name string) past.Lives {
	view, done := s.state()
	defer done()
	return kind.Lives(view.State, name)
}

// walk goes from an event of an entity to the ones before it.
func (s history) walk(kind past.Kind, name string, seq uint64) *past.Walk {
	w := &past.Walk{Log: s.changes, Kind: kind, Name: name, Next: seq}
	if s.state != nil {
		w.Lives = s.lives(kind, name)
	}
	return w
}

// ends are the reasons why a list ends before the event that added the entity.
var ends = map[past.End]string{
	past.Unnamed: "Earlier changes were recorded by an older version; the ledger has them.",
	past.Unread:  "Earlier changes are in an archive of the log.",
}

// list reads the changes of a page, each of which names the one before.
func (s history) list(ctx context.Context, h *historyData, seq uint64) error {
	walk := s.walk(past.Kinds[h.Entity], h.Name, seq)
	for len(h.Changes) < historyRows {
		c, ok, err := walk.Step(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		h.Changes = append(h.Changes, changeOf(c, h.hide))
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

// version finds the wanted version of an entity, which is nil after a removal. It takes the changes back, newest first, and counts how far
// the slider goes.
func (s history) version(ctx context.Context, h *historyData, now any, seq uint64, wanted func(domain.Recorded) bool) error {
	entity := now
	walk := s.walk(past.Kinds[h.Entity], h.Name, seq)
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
			if h.Then == nil && h.Missing == "" {
				h.Missing = "At this time the " + h.One + " did not exist. " + cmp.Or(ends[walk.End], "It was added later.")
			}
			return nil
		}
		h.Slider = min(n, mostBack)
		if h.Then != nil || h.Missing != "" {
			continue
		}
		h.Back = n
		entity = c.After(entity)
		if wanted(c.Recorded) {
			h.show(c, entity, now)
		}
		entity = c.Before(entity)
	}
}

// show is the version of an entity that c made, nil if there is none; now is the entity of today.
func (h *historyData) show(c past.Change, entity, now any) {
	if entity == nil {
		h.Missing = "An older version of Ledge recorded this change. The " + h.One + " after it cannot be shown."
		if c.Verb == past.Removed {
			h.Missing = "At this time the " + h.One + " did not exist: it was removed."
		}
		return
	}
	then := changeOf(c, h.hide)
	h.Then, h.Facts = &then, factsOf(entity)
	if now == nil {
		now = entity
	}
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
	walk := s.walk(past.Kinds["device"], name, seq)
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

// changeOf returns a change for a page. hide leaves out the address of the actor.
func changeOf(c past.Change, hide bool) entityChange {
	e := entityChange{
		Seq: c.Seq, At: c.At.UnixMilli(), Actor: c.Actor, Origin: c.Origin, What: c.Verb, Removal: c.Verb == past.Removed,
		Fields: fieldsOf(c.Values()),
	}
	if hide {
		e.Actor, e.Origin = domain.IdentityOf(c.Actor), ""
	}
	return e
}

// ownFields are the fields of an entity that Ledge sets. A page has its name and its times elsewhere.
var ownFields = []string{"id", "name", "created", "modified"}

// fieldsOf lists the differences of a change, without the fields that Ledge sets.
func fieldsOf(changes domain.Changes) []difference {
	return differences(changes, differenceBounds{mostFields, mostFieldText, mostChangeText}, plainJSON, ownFields)
}

// plainJSON is a JSON value as a text; a string is without its quotes.
func plainJSON(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// factsOf lists the fields of an entity, which is a struct; an empty field has an empty value.
func factsOf(entity any) (facts []fact) {
	v := reflect.ValueOf(entity)
	for i := range v.NumField() {
		name := jsonNameOf(v.Type().Field(i))
		if !slices.Contains(ownFields, name) {
			facts = append(facts, fact{Name: name, Value: textOfFact(v.Field(i))})
		}
	}
	return facts
}

func jsonNameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func textOfFact(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case string:
		return value
	case []string:
		return strings.Join(value, ", ")
	case json.RawMessage:
		return string(value)
	}
	if v.IsZero() {
		return ""
	}
	text, _ := json.Marshal(v.Interface()) // values of the log can be encoded
	return string(text)
}
