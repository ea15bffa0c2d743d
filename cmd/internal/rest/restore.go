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
	"ledge/cmd/internal/services"
)

// kind is a kind of entity in the REST API.
type kind struct {
	service, path string
	key           string // of the entity in requests and answers
	replaced      bool   // a change replaces the whole entity
}

// kinds are the kinds by their names in histories.
var kinds = map[string]kind{
	"device":       {services.Metadata, "/api/v2/device", "device", false},
	"profile":      {services.Metadata, "/api/v2/deviceprofile", "profile", true},
	"service":      {services.Metadata, "/api/v2/deviceservice", "service", false},
	"watcher":      {services.Metadata, "/api/v2/provisionwatcher", "provisionWatcher", false},
	"subscription": {services.Notifications, "/api/v2/subscription", "subscription", false},
}

// ledgesOwn are the fields that no request sets.
var ledgesOwn = []string{"id", "created", "modified", "lastConnected", "lastReported"}

// Restore makes an entity what it was after an event, as an ordinary change: it is added again if it is removed.
func Restore(ctx context.Context, dir, entity, name string, seq uint64) (text string, err error) {
	k, ok := kinds[entity]
	if !ok {
		const says = "a %s cannot be restored; --restore is for devices, profiles, services, watchers and subscriptions"
		return "", exit.With(exit.Usage, fmt.Errorf(says, entity))
	}
	api, err := Local(dir)
	if err != nil {
		return "", err
	}
	path := k.path + "/name/" + url.PathEscape(name)
	then, _, err := readEntity(ctx, api, k, fmt.Sprint(path, "?asOf=", seq))
	if err == nil && then == nil {
		err = fmt.Errorf("%s %q was not there after event %d; choose another event of `ledge history %s %[2]s`", entity, name, seq, entity)
	}
	if err != nil {
		return "", err
	}
	now, etag, err := readEntity(ctx, api, k, path)
	if err != nil {
		return "", err
	}
	call := Call{Service: k.service, Path: k.path, IfMatch: etag}
	fields := then
	switch {
	case now == nil:
		call.Method = http.MethodPost
	case k.replaced:
		call.Method = http.MethodPut
	default:
		call.Method, fields = http.MethodPatch, changedFields(now, then)
	}
	if reflect.DeepEqual(now, then) {
		return fmt.Sprintf("%s %s is already as it was after event %d", entity, name, seq), nil
	}
	fields["name"] = name
	if err := api.DoOne(ctx, call, k.key, fields); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s is as it was after event %d", entity, name, seq), nil
}

// readEntity returns the fields that a request sets, with the ETag; nil if it does not exist.
func readEntity(ctx context.Context, api *API, k kind, path string) (fields map[string]any, etag string, err error) {
	var answer map[string]json.RawMessage
	etag, err = api.Do(ctx, Call{Method: http.MethodGet, Service: k.service, Path: path}, &answer)
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Status == http.StatusNotFound {
		return nil, "", nil
	}
	if err == nil {
		err = json.Unmarshal(answer[k.key], &fields)
	}
	for _, name := range ledgesOwn {
		delete(fields, name)
	}
	return fields, etag, err
}

// changedFields returns the fields of then that differ from now. A field that was empty then is sent empty: the API leaves a missing one as it
// is, and cannot take a location away.
func changedFields(now, then map[string]any) map[string]any {
	fields := maps.Clone(then)
	maps.DeleteFunc(fields, func(name string, value any) bool { return reflect.DeepEqual(value, now[name]) })
	for name, value := range now {
		if _, there := then[name]; there || name == "location" {
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
