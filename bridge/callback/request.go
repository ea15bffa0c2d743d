package callback

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"ledge/domain"
)

// The paths below a device service's base address, as EdgeX 2.3 has them.
const (
	devicePath   = "/api/v2/callback/device"
	profilePath  = "/api/v2/callback/profile"
	watcherPath  = "/api/v2/callback/watcher"
	servicePath  = "/api/v2/callback/service"
	validatePath = "/api/v2/validate/device"
)

// request is what a device service is sent. entity, if there is one, is JSON under key beside apiVersion and requestId. What is added, and a
// profile, is sent whole, in the form that it has on the log: what is empty is missing, which EdgeX's SDK reads as empty. Of all else an
// update with every field is sent.
type request struct {
	method, path string
	key          string
	entity       any
}

// requestOf returns what a device service hears of an event; ok is false for events that no service hears of.
func requestOf(e domain.Event) (q request, ok bool) {
	switch e := e.(type) {
	case domain.DeviceAdded:
		q = request{http.MethodPost, devicePath, "device", e.Device}
	case domain.DeviceUpdated:
		q = request{http.MethodPut, devicePath, "device", update(e.Device)}
	case domain.DeviceRemoved:
		q = request{method: http.MethodDelete, path: devicePath + "/name/" + e.Device.Name}
	case domain.WatcherAdded:
		q = request{http.MethodPost, watcherPath, "provisionWatcher", e.Watcher}
	case domain.WatcherUpdated:
		q = request{http.MethodPut, watcherPath, "provisionWatcher", update(e.Watcher)}
	case domain.WatcherRemoved:
		q = request{method: http.MethodDelete, path: watcherPath + "/name/" + e.Watcher.Name}
	case domain.ProfileUpdated:
		q = request{http.MethodPut, profilePath, "profile", e.Profile}
	case domain.ServiceUpdated:
		q = request{http.MethodPut, servicePath, "service", update(e.Service)}
	default:
		return request{}, false
	}
	return q, true
}

// update has each field of an entity but the times of its records. EdgeX's SDK leaves as it is what is missing or null, so an empty list is sent
// as an empty one. A location is any JSON value, and may be null.
func update(entity any) map[string]any {
	fields := map[string]any{}
	for field, v := range reflect.ValueOf(entity).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "created" || name == "modified":
		case v.Kind() == reflect.Slice && v.IsNil() && v.Type() != reflect.TypeFor[json.RawMessage]():
			fields[name] = []string{}
		case v.Kind() == reflect.Map && v.IsNil():
			fields[name] = struct{}{}
		default:
			fields[name] = v.Interface()
		}
	}
	return fields
}
