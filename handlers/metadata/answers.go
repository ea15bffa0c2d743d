package metadata

import (
	"ledge/handlers"
	"ledge/handlers/shapes"
)

type deviceAnswer struct {
	handlers.Envelope
	Device shapes.Device `json:"device"`
}

type devicesAnswer struct {
	handlers.ListEnvelope
	Devices []shapes.Device `json:"devices"`
}

type profileAnswer struct {
	handlers.Envelope
	Profile shapes.Profile `json:"profile"`
}

type profilesAnswer struct {
	handlers.ListEnvelope
	Profiles []shapes.Profile `json:"profiles"`
}

type serviceAnswer struct {
	handlers.Envelope
	Service shapes.Service `json:"service"`
}

type servicesAnswer struct {
	handlers.ListEnvelope
	Services []shapes.Service `json:"services"`
}

type watcherAnswer struct {
	handlers.Envelope
	Watcher shapes.Watcher `json:"provisionWatcher"`
}

type watchersAnswer struct {
	handlers.ListEnvelope
	Watchers []shapes.Watcher `json:"provisionWatchers"`
}
