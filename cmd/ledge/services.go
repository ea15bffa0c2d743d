package main

import (
	"net/http"

	"ledge/cmd/internal/retention"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers"
	coredata "ledge/handlers/data"
	"ledge/handlers/devicerest"
	"ledge/handlers/metadata"
	"ledge/handlers/notifications"
	"ledge/store"
	"ledge/store/osfile"
)

// serving is how the program serves the HTTP services, by name.
var serving = map[string]struct {
	// ready returns why the service does not take what is sent to it, nil if it does: its health.
	ready func(*Program) error
	// handler returns what serves its requests. If that has a method Close, the stop calls it.
	handler func(*Program, handlers.Options) http.Handler
}{
	services.Metadata:      {(*Program).readyForChanges, (*Program).newMetadata},
	services.Data:          {(*Program).readyForReadings, (*Program).newData},
	services.DeviceREST:    {(*Program).readyForReadings, (*Program).newDeviceREST},
	services.Notifications: {(*Program).readyForNotifications, (*Program).newNotifications},
	services.Console:       {(*Program).readyForChanges, (*Program).newConsole},
}

func (p *Program) newMetadata(o handlers.Options) http.Handler {
	o.Units, o.ValidateUnits = p.units, p.Config.UnitsFile != ""
	o.Devices = p.callback
	return metadata.New(o, p.node.Changes.View, p.node.Changes.Appender, p.identities)
}

func (p *Program) newData(o handlers.Options) http.Handler {
	o.Swept = retention.Swept(p.node.Readings.State)
	return coredata.New(o, p.node.Readings.View, p.readingsLog(), p.node.Readings.Log.EventAt, p.payloads)
}

func (p *Program) newDeviceREST(o handlers.Options) http.Handler {
	o.DeviceService = true
	return devicerest.New(p.withSecrets(o), p.node.Changes.View, p.node.Changes.Appender, p.readingsLog(), p.payloads)
}

// readingsLog takes what is posted to core-data and device-rest.
func (p *Program) readingsLog() handlers.Submitter {
	if p.Config.PersistData {
		return p.node.Readings.Appender
	}
	return store.Unstored{Appender: p.node.Readings.Appender, Passes: func(c domain.Command) bool {
		switch c.(type) {
		case domain.PostReading, domain.AddDataEvent:
			return true
		}
		return false
	}}
}

func (p *Program) newNotifications(o handlers.Options) http.Handler {
	o = p.withSecrets(o)
	o.Names, o.Swept = p.names, retention.Swept(p.node.Notifications.State)
	return notifications.New(o, p.node.Changes.View, p.node.Changes.Appender, p.flushedNotes, p.node.Notifications.Appender, p.channels(), p.newReplays(), p)
}

// withSecrets are the options of a service that stores secrets.
func (p *Program) withSecrets(o handlers.Options) handlers.Options {
	o.Secrets = p.secrets.Of(o.Service, nil)
	return o
}

func (p *Program) readyForChanges() error { return p.readyFor(p.node.Changes.Log) }

func (p *Program) readyForNotifications() error { return p.readyFor(p.node.Notifications.Log) }

// readyForReadings also looks whether there is room for values that are files.
func (p *Program) readyForReadings() error {
	if err := p.readyFor(p.node.Readings.Log); err != nil {
		return err
	}
	if err := p.payloads.Err(); err != nil {
		return err
	}
	dir := p.Config.Paths().Payloads()
	if free, err := osfile.FreeBytes(dir); err == nil && free < uint64(p.Config.ReadingsReserve()) {
		return domain.Errorf(domain.Full, "the disk is full: %d bytes are free in %s, and the reserve for readings is %s, four times the setting disk-reserve; free some space or lower the reserve", free, dir, p.Config.ReadingsReserve())
	}
	return nil
}
