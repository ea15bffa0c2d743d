package server

import (
	"context"
	"net/http"
	"time"

	"ledge/cmd/internal/retention"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/command"
	coredata "ledge/handlers/data"
	"ledge/handlers/devicerest"
	"ledge/handlers/metadata"
	"ledge/handlers/notifications"
	"ledge/store"
)

// serving is how the program serves an HTTP service.
type serving struct {
	// ready returns why the service does not take what is sent to it, nil if it does: its health.
	ready func(*Server) error
	// handler returns what serves its requests. If that has a method Close, the stop calls it.
	handler func(*Server, handlers.Options) http.Handler
}

// servingOf returns how the program serves the HTTP service with a name.
func servingOf(name string) serving {
	return map[string]serving{
		services.Metadata:      {checkChanges, newMetadata},
		services.Data:          {checkReadings, newData},
		services.Command:       {checkChanges, newCommand},
		services.DeviceREST:    {checkReadings, newDeviceREST},
		services.Notifications: {checkNotifications, newNotifications},
		services.Console:       {checkChanges, newConsole},
	}[name]
}

func newMetadata(p *Server, o handlers.Options) http.Handler {
	o.Units, o.ValidateUnits = p.units, p.Config.UnitsFile != ""
	o.Devices, o.DefaultProtocol = p.Channels.Callbacks, p.Config.DefaultProtocol
	return metadata.New(o, p.Node.Changes.View, p.Node.Changes.Appender, p.identities,
		metadata.Ledger{Past: p.past, Events: p.Node.Events(), Tree: p.transparency, Replays: p.bus.Replays()})
}

func newData(p *Server, o handlers.Options) http.Handler {
	o.Swept = retention.Swept(&p.Node.Readings)
	return coredata.New(o, p.Node.Readings.View, newReadingsLog(p), p.Node.Readings.Log.EventAt, p.payloads)
}

func newCommand(p *Server, o handlers.Options) http.Handler {
	return command.New(o, p.Node.Changes.View, p.Node.Changes.Appender, p.Channels.Commands)
}

func newDeviceREST(p *Server, o handlers.Options) http.Handler {
	o.DeviceService = true
	return devicerest.New(addSecrets(p, o), p.Node.Changes.View, p.Node.Changes.Appender, newReadingsLog(p), p.payloads)
}

// newReadingsLog returns the log of values that are posted to core-data and device-rest.
func newReadingsLog(p *Server) handlers.Submitter {
	if p.Config.PersistData {
		return p.Node.Readings.Appender
	}
	return store.Unstored{Appender: p.Node.Readings.Appender, Publish: p.bus.Publish, Passes: func(c domain.Command) bool {
		switch c.(type) {
		case domain.PostReading, domain.AddDataEvent:
			return true
		}
		return false
	}}
}

func newNotifications(p *Server, o handlers.Options) http.Handler {
	o = addSecrets(p, o)
	o.Names, o.Swept = p.Channels.Names, retention.Swept(&p.Node.Notifications)
	return notifications.New(o, p.Node.Changes.View, p.Node.Changes.Appender, p.past, p.Channels.ViewFlushed, p.Node.Notifications.Appender,
		p.Channels.NewChannelChecks(), p.Channels.NewReplays(), p.Channels)
}

// addSecrets are the options of a service that stores secrets.
func addSecrets(p *Server, o handlers.Options) handlers.Options {
	o.Secrets = p.secrets.Of(o.Service, nil)
	return o
}

func checkChanges(p *Server) error { return checkLog(p, p.Node.Changes.Log) }

func checkNotifications(p *Server) error { return checkLog(p, p.Node.Notifications.Log) }

// checkReadings also looks whether there is room for values that are files.
func checkReadings(p *Server) error {
	if err := checkLog(p, p.Node.Readings.Log); err != nil {
		return err
	}
	if err := p.payloads.Err(); err != nil {
		return err
	}
	dir := p.Config.Paths().Payloads()
	if free, err := p.Node.Room.Free(dir); err == nil && free < uint64(p.Config.ReadingsReserve()) {
		return domain.Errorf(domain.Full, "the disk is full: %d bytes are free in %s, and the reserve for readings is %s, four times the setting disk-reserve; free some space, lower the reserve, or raise max-bytes if it is set", free, dir, p.Config.ReadingsReserve())
	}
	return nil
}

// healthTimeout is how long the log and the state may take to answer a health check: as long as a client may take.
const healthTimeout = 30 * time.Second

// checkLog returns why nothing can be recorded on a log, or nothing be read, nil if both work.
func checkLog(p *Server, log *store.Log) error {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	if err := p.Node.Store.Health(ctx); err != nil {
		return err
	}
	if err := p.Node.Health(); err != nil {
		return err
	}
	return log.Ready()
}
