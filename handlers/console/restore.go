package console

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	past "ledge/domain/history"
	"ledge/handlers/console/web"
)

// restorePages restore versions of entities from their history. A restoration is a change like any other, in the name of the user.
type restorePages struct{ historyPages }

func (s restorePages) Routes() (routes []web.Route) {
	for _, k := range historyKinds {
		path := k.Path + "/:name/restore"
		routes = append(routes,
			web.Get(path, domain.MayChange, func(c *gin.Context) error { return s.showRestore(c, k, web.Answer{Status: http.StatusOK}) }),
			web.Post(path, domain.MayChange, func(c *gin.Context) error { return s.restoreVersion(c, k) }))
	}
	return routes
}

// restoration is a version of an entity with its differences from the entity of today.
type restoration struct {
	historyKind
	Name    string
	Address string // of the entity's page
	Seq     uint64 // of the change that made the version
	At      int64  // of that change, in milliseconds since the Unix epoch
	// Revision is the revision of the entity of today; "" if it is removed.
	Revision string
	Fields   []restoredField

	now, then any // now is nil if the entity is removed
	changes   domain.Changes
}

// restoredField is a field today, in the version, and the error of its value.
type restoredField struct {
	difference
	Error string
}

// findVersion finds the version of an entity that the event at seq made.
func (s restorePages) findVersion(c *gin.Context, k historyKind, seq uint64) (r restoration, err error) {
	name := strings.Clone(c.Param("name"))
	r = restoration{historyKind: k, Name: name, Address: k.address(name), Seq: seq}
	now, last, err := s.readLatest(c, k, r.Name)
	if err != nil {
		return r, err
	}
	if r.now = now; now != nil {
		r.Revision = strconv.FormatUint(last, 10)
	}
	if err = s.history.findVersion(c.Request.Context(), &r, last); err != nil {
		return r, err
	}
	r.changes, err = domain.Diff(orEmpty(r.now, r.then), r.then)
	for _, name := range r.changes.Names() {
		if !r.settable(name) {
			delete(r.changes, name)
		}
	}
	return r, err
}

// findVersion goes back from the last event of an entity to the one that made the version.
func (s history) findVersion(ctx context.Context, r *restoration, last uint64) error {
	entity, walk := r.now, s.walk(past.Kinds[r.Entity], r.Name, last)
	for range mostUndone {
		c, ok, err := walk.Step(ctx)
		if err != nil {
			return err
		}
		if !ok || c.Seq < r.Seq {
			break
		}
		if entity = c.After(entity); c.Seq == r.Seq {
			if r.At, r.then = c.At.UnixMilli(), entity; entity != nil {
				return nil
			}
			break
		}
		entity = c.Before(entity)
	}
	return domain.Errorf(domain.NotFound,
		"No version of the %s %.80q that can be restored begins with event %d. Choose one from its history.", r.One, r.Name, r.Seq)
}

// orEmpty returns an entity, or for nil an empty one of the type of like.
func orEmpty(entity, like any) any {
	if entity == nil {
		return reflect.Zero(reflect.TypeOf(like)).Interface()
	}
	return entity
}

// settable reports whether a request can give a field the value of the version. The API cannot take a location away.
func (r restoration) settable(field string) bool {
	if slices.Contains(ownFields, field) || slices.Contains([]string{"lastConnected", "lastReported"}, field) {
		return false
	}
	return field != "location" || !fieldNamed(r.then, field).IsZero()
}

// fieldNamed returns the field of a struct by its name in JSON.
func fieldNamed(entity any, name string) reflect.Value {
	v := reflect.ValueOf(entity)
	for i := range v.NumField() {
		if jsonNameOf(v.Type().Field(i)) == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// request returns the method and the fields of the request that restores the version. A profile is replaced as a whole.
func (r restoration) request() (method string, fields map[string]any, err error) {
	changes := r.changes
	switch {
	case r.now == nil:
		method = http.MethodPost
	case r.replaced:
		method = http.MethodPut
		changes, err = domain.Diff(orEmpty(nil, r.then), r.then)
	default:
		method = http.MethodPatch
	}
	fields = map[string]any{"name": r.Name}
	for _, name := range changes.Names() {
		if r.settable(name) {
			fields[name] = valueOf(fieldNamed(r.then, name))
		}
	}
	return method, fields, err
}

// valueOf returns a value for a request: an empty list or map in place of nil, which would leave the field alone.
func valueOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return []any{}
	case v.Kind() == reflect.Map && v.Len() == 0:
		return map[string]any{}
	}
	return v.Interface()
}

// showRestore shows the differences that a restoration takes away, before it or after its refusal.
func (s restorePages) showRestore(c *gin.Context, k historyKind, refused web.Answer) error {
	text := c.Query("seq")
	if c.Request.Method == http.MethodPost {
		text = c.PostForm("seq")
	}
	seq, _ := strconv.ParseUint(text, 10, 64) // no event has 0
	r, err := s.findVersion(c, k, seq)
	if err != nil {
		return err
	}
	for _, f := range fieldsOf(r.changes) {
		r.Fields = append(r.Fields, restoredField{f, refused.Problems.Of(f.Field, f.Field)})
	}
	r.now, r.then, r.changes = nil, nil, nil
	s.Memory(c).Release()
	return s.Show(c, refused.Status, "restore", web.Page{Title: "Restore " + r.Name, Message: refused.Message, Data: r})
}

func (s restorePages) restoreVersion(c *gin.Context, k historyKind) error {
	seq, _ := strconv.ParseUint(c.PostForm("seq"), 10, 64) // no event has 0
	r, err := s.findVersion(c, k, seq)
	if err != nil {
		return err
	}
	method, fields, err := r.request()
	if err != nil {
		return err
	}
	revision := cmp.Or(c.PostForm("revision"), "0") // no revision is 0
	if method == http.MethodPost {
		revision = "" // the request is refused if the entity is there again
	}
	a := s.ChangeOne(c, k.service, method, web.API+"/"+k.api, k.key, fields, revision)
	if a.Status == http.StatusPreconditionFailed {
		a.Message = "Somebody else has changed this meanwhile, and nothing is restored yet. Compare again, then restore."
	}
	if !a.OK() {
		return s.showRestore(c, k, a)
	}
	return s.Done(c, r.Address, "The %s is as it was after event %d.", k.One, seq)
}
