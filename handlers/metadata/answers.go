package metadata

import (
	"ledge/handlers"
	"ledge/handlers/shapes"
)

type deviceAnswer struct {
	handlers.Envelope
	Device shapes.Device `json:"device"`
}

type profileAnswer struct {
	handlers.Envelope
	Profile shapes.Profile `json:"profile"`
}

type serviceAnswer struct {
	handlers.Envelope
	Service shapes.Service `json:"service"`
}

type watcherAnswer struct {
	handlers.Envelope
	Watcher shapes.Watcher `json:"provisionWatcher"`
}
