package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/logging"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
	"ledge/handlers"
	"ledge/handlers/connections"
	"ledge/handlers/console"
	"ledge/handlers/quota"
	"ledge/handlers/startup"
	"ledge/handlers/transport"
)

// servers are the HTTP services: every address is listened on before anything else starts.
type servers struct {
	config  *config.Config
	logger  *slog.Logger
	byName  map[string]*served
	wg      sync.WaitGroup
	limiter *connections.Limiter
	memory  *quota.Quota // of the bodies of all services

	server *Server // the server that they belong to
}

// served is a service that is listened for.
type served struct {
	listener net.Listener
	server   *http.Server
	answers  atomic.Pointer[http.Handler] // to all requests: first that the program is starting
	handler  http.Handler                 // of the service alone; nil while the program is starting
}

// ServeHTTP implements http.Handler.
func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.answers.Load()).ServeHTTP(w, r)
}

func (s *served) answerWith(h http.Handler) { s.answers.Store(&h) }

// listen listens at the addresses of all services, or at none.
func listen(ctx context.Context, c *config.Config, found secure.Addresses, logger *slog.Logger) (*servers, error) {
	s := &servers{config: c, logger: logger, byName: map[string]*served{}, memory: handlers.Options{}.WithDefaults().Memory}
	for _, one := range services.All {
		at := c.ListenAt(one)
		var l net.Listener
		address := found.Host(at.Setting, at.Host)
		err := whenFree(ctx, logger, address, at.Port, func() (err error) {
			l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(at.Port)))
			return err
		})
		if err != nil {
			s.close()
			settings := "setting " + at.Setting
			if at.Setting != one.PortSetting() {
				settings = "settings " + at.Setting + " and " + one.PortSetting()
			}
			return nil, exit.With(exit.Port, fmt.Errorf("%s: %w; stop what uses the address or choose another", settings, err))
		}
		s.byName[one.Name] = &served{listener: l}
	}
	return s, nil
}

func (s *servers) address(name string) string { return s.byName[name].listener.Addr().String() }

// urls returns the URLs of all services, by name.
func (s *servers) urls() map[string]string {
	all := map[string]string{}
	for name := range s.byName {
		all[name] = s.url(name)
	}
	return all
}

// url returns the URL of a service for clients: in secure mode with an address that its certificate has.
func (s *servers) url(name string) string {
	if !s.config.Secure {
		return "http://" + s.address(name)
	}
	host, port, _ := net.SplitHostPort(s.address(name)) // of a listener: cannot fail
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = secure.OwnAddress().String()
	}
	return "https://" + net.JoinHostPort(host, port)
}

// open has all services answer that the program is starting.
func (s *servers) open(p *Server) {
	s.server = p
	s.limiter = connections.New(p.files.connections(), s.logger)
	for _, one := range services.All {
		o := handlers.Options{Service: one.Name, Logger: s.logger}
		starting := startup.Handler(o, p.startedSoFar)
		if one.Name == services.Console {
			starting = console.Starting(p.startedSoFar)
		}
		s.byName[one.Name].answerWith(starting)
		s.start(o)
	}
}

// serve has all services answer by themselves. Listeners and connections stay as they are. No service answers before all handlers are set:
// each may ask which one has a path.
func (s *servers) serve() {
	for _, one := range services.All {
		srv := s.byName[one.Name]
		srv.handler = servingOf(one.Name).handler(s.server, s.options(one))
		if c, ok := srv.handler.(interface{ Close() }); ok {
			srv.server.RegisterOnShutdown(c.Close)
		}
	}
	for _, one := range services.All {
		srv := s.byName[one.Name]
		srv.answerWith(s.server.meters.Serve(s.options(one), srv.handler))
	}
}

// handlers returns what serves the requests of each service that has started.
func (s *servers) handlers() map[string]http.Handler {
	list := map[string]http.Handler{}
	for name, one := range s.byName {
		if one.handler != nil {
			list[name] = one.handler
		}
	}
	return list
}

// headerTime is how long the TLS handshake and the header of a connection's first request may take, headerBytes about how long a header is.
const (
	headerTime  = 10 * time.Second
	headerBytes = 24 << 10
)

// start begins to serve at the address of the service that o names. All that each request has to pass is here: in secure mode TLS too, see
// [Server.openTLS].
func (s *servers) start(o handlers.Options) {
	name := o.Service
	origins := s.config.SameOrigin(s.logger)
	if name == services.Console { // whose cookie is for its own pages alone
		origins.Links, origins.TrustedOrigins = true, nil
	}
	h := s.config.Proxies().Before(origins.Before(s.byName[name]))
	var wrap func(net.Conn) net.Conn
	if t := s.server.tls.transport; t != nil {
		h, wrap = t.Handler(h), t.Wrap
	}
	srv := &http.Server{
		Handler: handlers.Deadlines(o, h), ReadHeaderTimeout: headerTime, ConnContext: transport.ConnContext,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: headerBytes,
		ErrorLog: logging.NewServerLog(s.logger.With("service", name)),
	}
	s.byName[name].server = srv
	s.wg.Go(func() {
		if err := s.limiter.Serve(srv, name, s.byName[name].listener, wrap); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("service stopped", "service", name, "error", err)
			s.server.fail(fmt.Errorf("service %s stopped: %w", name, err))
		}
	})
}

// options are what all services share.
func (s *servers) options(one services.Service) handlers.Options {
	c, name := s.config, one.Name
	return handlers.Options{
		Service: name, Version: s.server.Version, Instance: s.server.instance, Logger: s.logger, Now: s.server.Now,
		Config: func() any { return settingsInForce(s.server, name) },
		Ready:  func() error { return servingOf(one.Name).ready(s.server) }, Warnings: s.server.warnings,
		Storage: func() any { return s.server.meters.Storage() },
		Memory:  s.memory, MaxResults: c.MaxResultCount, InlineBytes: inlineBytes(c), Access: s.server.access,
		StrictProfileChanges: c.Strict(config.StrictChanges), StrictProfileDeletes: c.Strict(config.StrictDeletes),
		Observe: s.server.meters.ObserveRequests(name), Addresses: s.urls(), Others: s.handlers,
	}
}

// shutdownTimeout is how long requests in work may take at a stop.
const shutdownTimeout = 10 * time.Second

// shutdown answers the requests in work and takes no more.
func (s *servers) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
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

// close gives the addresses back, also those of a start that has failed.
func (s *servers) close() {
	for _, one := range s.byName {
		if one.server != nil {
			one.server.Close()
		}
		one.listener.Close()
	}
	s.wg.Wait()
}

// mostInlineBytes is the longest value that fits into a message of the log.
const mostInlineBytes = 8 << 20

// inlineBytes is the longest value in a message of the log, 0 for the default. What is not stored has no file beside the message.
func inlineBytes(c *config.Config) int64 {
	if c.PersistData {
		return 0
	}
	return mostInlineBytes
}
