package metadata

import (
	"ledge/handlers"
	v2 "ledge/handlers/shapes/v2"
)

type profileAnswer struct {
	handlers.Envelope
	Profile v2.Profile `json:"profile"`
}

type serviceAnswer struct {
	handlers.Envelope
	Service v2.Service `json:"service"`
}

type watcherAnswer struct {
	handlers.Envelope
	Watcher v2.Watcher `json:"provisionWatcher"`
}
