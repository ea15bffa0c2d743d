package callback

import (
	"net/http"

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

// request is what a device service is sent. entity, where there is one, is JSON under key beside apiVersion and
// requestId. What is added, and a profile, is sent whole, in the form that it has on the log: what is empty is missing,
// which EdgeX's SDK reads as empty. Of the rest an update with every field.
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
		q = request{http.MethodPut, devicePath, "device", updateDevice(e.Device)}
	case domain.DeviceRemoved:
		q = request{method: http.MethodDelete, path: devicePath + "/name/" + e.Device.Name}
	case domain.WatcherAdded:
		q = request{http.MethodPost, watcherPath, "provisionWatcher", e.Watcher}
	case domain.WatcherUpdated:
		q = request{http.MethodPut, watcherPath, "provisionWatcher", updateWatcher(e.Watcher)}
	case domain.WatcherRemoved:
		q = request{method: http.MethodDelete, path: watcherPath + "/name/" + e.Watcher.Name}
	case domain.ProfileUpdated:
		q = request{http.MethodPut, profilePath, "profile", e.Profile}
	case domain.ServiceUpdated:
		q = request{http.MethodPut, servicePath, "service", updateService(e.Service)}
	default:
		return request{}, false
	}
	return q, true
}

// fields is an update. EdgeX's SDK leaves as it is what is missing or null, so that an empty list is an empty one.
type fields map[string]any

func updateDevice(d domain.Device) fields {
	return fields{
		"id": d.ID, "name": d.Name, "description": d.Description, "adminState": d.AdminState, "operatingState": d.OperatingState,
		"lastConnected": d.LastConnected, "lastReported": d.LastReported, "serviceName": d.ServiceName, "profileName": d.ProfileName, "protocolName": d.ProtocolName,
		"labels": list(d.Labels), "location": d.Location, "autoEvents": list(d.AutoEvents), "protocols": d.Protocols, "notify": d.Notify,
	}
}

func updateWatcher(d domain.ProvisionWatcher) fields {
	blocking := d.BlockingIdentifiers
	if blocking == nil {
		blocking = map[string][]string{}
	}
	return fields{
		"id": d.ID, "name": d.Name, "labels": list(d.Labels), "identifiers": d.Identifiers, "blockingIdentifiers": blocking,
		"profileName": d.ProfileName, "serviceName": d.ServiceName, "adminState": d.AdminState, "autoEvents": list(d.AutoEvents),
	}
}

func updateService(d domain.DeviceService) fields {
	return fields{
		"id": d.ID, "name": d.Name, "description": d.Description, "lastConnected": d.LastConnected, "lastReported": d.LastReported,
		"baseAddress": d.BaseAddress, "labels": list(d.Labels), "adminState": d.AdminState,
	}
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
