package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"

	"ledge/cmd/internal/exit"
	"ledge/handlers/entityfile"
)

// Restore makes an entity as it was after an event, as an ordinary change. A removed entity is added again.
func Restore(ctx context.Context, dir, entity, name string, seq uint64) (text string, err error) {
	k, ok := Kinds[entity]
	if !ok {
		const says = "a %s cannot be restored; --restore is for devices, profiles, services, watchers and subscriptions"
		return "", exit.With(exit.Usage, fmt.Errorf(says, entity))
	}
	api, err := Local(dir)
	if err != nil {
		return "", err
	}
	path := k.Path + "/name/" + url.PathEscape(name)
	then, _, err := api.Entity(ctx, k, fmt.Sprint(path, "?asOf=", seq))
	if err == nil && then == nil {
		err = fmt.Errorf("%s %q was not there after event %d; choose another event of `ledge history %s %[2]s`", entity, name, seq, entity)
	}
	if err != nil {
		return "", err
	}
	now, etag, err := api.Entity(ctx, k, path)
	if err != nil {
		return "", err
	}
	if reflect.DeepEqual(now, then) {
		return fmt.Sprintf("%s %s is already as it was after event %d", entity, name, seq), nil
	}
	if err := api.Change(ctx, k, name, etag, now, then); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s is as it was after event %d", entity, name, seq), nil
}

// Entity returns the fields that a request sets, with the ETag; nil if it does not exist.
func (a *API) Entity(ctx context.Context, k Kind, path string) (fields map[string]any, etag string, err error) {
	var answer map[string]json.RawMessage
	etag, err = a.Do(ctx, Call{Method: http.MethodGet, Service: k.Service, Path: path}, &answer)
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Status == http.StatusNotFound {
		return nil, "", nil
	}
	if err == nil {
		fields, err = DecodeFields[map[string]any](answer[k.Key])
	}
	return Settable(fields), etag, err
}

// Change makes the fields of an entity from now to then. Now is nil if it does not exist, and belongs to the ETag.
func (a *API) Change(ctx context.Context, k Kind, name, etag string, now, then map[string]any) error {
	call := Call{Service: k.Service, Path: k.Path, IfMatch: etag}
	switch {
	case now == nil:
		call.Method = http.MethodPost
	case k.Replaced:
		call.Method = http.MethodPut
	default:
		call.Method, then = http.MethodPatch, ChangedFields(now, then)
	}
	then["name"] = name
	return a.DoOne(ctx, call, k.Key, then)
}

// Settable removes the fields that no request sets.
func Settable(fields map[string]any) map[string]any {
	for _, name := range entityfile.OwnFields {
		delete(fields, name)
	}
	return fields
}

// ChangedFields returns the fields of then that differ from now. A field that was empty then is sent empty, because the API leaves a
// missing one as it is. The API cannot take a location away.
func ChangedFields(now, then map[string]any) map[string]any {
	fields := maps.Clone(then)
	maps.DeleteFunc(fields, func(name string, value any) bool { return reflect.DeepEqual(value, now[name]) })
	for name, value := range now {
		if _, there := then[name]; there || value == nil || name == "location" {
			continue
		}
		switch value.(type) {
		case []any:
			fields[name] = []any{}
		case map[string]any:
			fields[name] = map[string]any{}
		case string:
			fields[name] = ""
		default:
			fields[name] = reflect.Zero(reflect.TypeOf(value)).Interface()
		}
	}
	return fields
}
