package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"ledge/handlers"
	"ledge/handlers/connections"
	coredata "ledge/handlers/data"
	"ledge/handlers/devicerest"
	"ledge/handlers/metadata"
	"ledge/handlers/notifications"
	"ledge/handlers/transport"
)

// The HTTP services, by the names that EdgeX gives them.
const (
	metadataService      = "core-metadata"
	dataService          = "core-data"
	deviceRESTService    = "device-rest"
	notificationsService = "support-notifications"
)

// servers are the HTTP services: every address is listened on before anything else starts.
type servers struct {
	config  *Config
	logger  *slog.Logger
	byName  map[string]*service
	wg      sync.WaitGroup
	limiter *connections.Limiter

	program *Program // what they serve
}

type service struct {
	listener net.Listener
	server   *http.Server
}

func now() time.Time { return time.Now().UTC() }

// listen takes the addresses of all services, or none.
func listen(ctx context.Context, c *Config, logger *slog.Logger) (*servers, error) {
	s := &servers{config: c, logger: logger, byName: map[string]*service{}}
	for _, a := range []struct {
		name, setting, host string
		port                int
	}{
		{metadataService, "metadata", c.MetadataHost, c.MetadataPort},
		{dataService, "data", c.CoreDataHost, c.CoreDataPort},
		{deviceRESTService, "device-rest", c.DeviceRESTHost, c.DeviceRESTPort},
		{notificationsService, "notifications", c.NotificationsHost, c.NotificationsPort},
	} {
		var l net.Listener
		err := whenFree(ctx, logger, a.port, func() (err error) {
			l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(c.address(a.setting+"-host", a.host), strconv.Itoa(a.port)))
			return err
		})
		if err != nil {
			s.close()
			return nil, exitError{exitPort, fmt.Errorf("settings %s-host and %s-port: %w; stop what uses the address or choose another", a.setting, a.setting, err)}
		}
		s.byName[a.name] = &service{listener: l}
	}
	return s, nil
}

func (s *servers) address(name string) string { return s.byName[name].listener.Addr().String() }

// url is where clients reach a service: in secure mode at an address that its certificate has.
func (s *servers) url(name string) string {
	if !s.config.Secure {
		return "http://" + s.address(name)
	}
	host, port, _ := net.SplitHostPort(s.address(name)) // of a listener: cannot fail
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = ownAddress().String()
	}
	return "https://" + net.JoinHostPort(host, port)
}

// serve starts to answer.
func (s *servers) serve(p *Program) {
	d := p.data
	s.program = p
	s.limiter = connections.New(s.config.connections(p.files), s.logger)
	state := handlers.Reader(d.view)
	o := s.options(metadataService)
	o.Units, o.ValidateUnits = p.units, s.config.ValidateUnits
	o.Devices = p.callback
	s.start(metadataService, metadata.New(o, state, d.events))
	o = s.options(dataService)
	o.BodyBytes = int64(s.config.LimitEventBytes)
	s.start(dataService, coredata.New(o, d.valueView, d.readings, d.store.Readings().EventAt, p.payloads))
	withSecrets := func(name string) handlers.Options {
		o := s.options(name)
		o.Secrets, o.SecretBytes = p.secrets.Of(name, nil), int64(s.config.LimitSecretBytes)
		return o
	}
	s.start(deviceRESTService, devicerest.New(withSecrets(deviceRESTService), state, d.events, d.readings, p.payloads))
	o = withSecrets(notificationsService)
	o.Names = p.names
	s.start(notificationsService, notifications.New(o, state, d.events, d.noteView, d.notifications, p.channels(), p.newReplays(), p.delivery))
}

// start serves h at the address of a service. All that each request has to pass is here: in secure mode TLS too, see
// [Program.secure].
func (s *servers) start(name string, h http.Handler) {
	h = s.config.proxies().Before(s.config.sameOrigin(s.logger).Before(s.program.withMetrics(s.options(name), h)))
	var wrap func(net.Conn) net.Conn
	if t := s.program.transport; t != nil {
		h, wrap = t.Handler(h), t.Wrap
	}
	srv := &http.Server{
		Handler: handlers.Deadlines(s.options(name), h), ReadHeaderTimeout: 10 * time.Second, ConnContext: transport.ConnContext,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(serverErrors{s.logger.With("service", name)}, "", 0),
	}
	s.byName[name].server = srv
	s.wg.Go(func() {
		if err := s.limiter.Serve(srv, name, s.byName[name].listener, wrap); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("service stopped", "service", name, "error", err)
			s.program.fail(fmt.Errorf("service %s stopped: %w", name, err))
		}
	})
}

// options are what all services share.
func (s *servers) options(name string) handlers.Options {
	c := s.config
	return handlers.Options{
		Service: name, Version: version, Instance: s.program.instance, Config: func() any { return c.inForce(name) }, Logger: s.logger, Now: s.program.Now,
		Ready: s.program.ready(name), Storage: func() any { return s.program.storage() }, Warnings: s.program.warnings,
		BodyBytes: int64(c.LimitJSONBytes), BatchElements: c.LimitBatch, UploadBytes: int64(c.LimitProfileBytes),
		ResourceBytes: int64(c.LimitResourceBytes), InlineBytes: int64(c.LimitInlineBytes), BodiesInFlight: c.LimitRequests, BodyMemory: int64(c.LimitBodyMemory),
		BodyTimeout: c.LimitReadTime, BodyRate: int64(c.LimitReadRate), WriteTimeout: c.LimitWriteTime,
		StrictProfileChanges: c.StrictProfileChanges, StrictProfileDeletes: c.StrictProfileDeletes,
		CheckState: c.ReadingsCheckState, IdempotencyKeep: c.IdempotencyKeep, IdempotencyAnswers: c.IdempotencyAnswers, Access: s.program.access,
	}
}

// shutdown answers the requests in work and takes no more.
func (s *servers) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownTimeout)
	defer cancel()
	for name, one := range s.byName { // all at once, so that a request that stalls on one takes no time from the others
		s.wg.Go(func() {
			if err := one.server.Shutdown(ctx); err != nil {
				s.logger.Warn("requests cut off at the stop", "service", name, "error", err)
				one.server.Close()
			}
		})
	}
	s.wg.Wait()
}

func (s *servers) close() {
	for _, one := range s.byName {
		one.listener.Close()
	}
}
