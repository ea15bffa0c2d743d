// Package server starts and stops all that `ledge serve` runs: the services, the NATS bus, and the work beside them. It turns the settings into
// the options of the packages below.
package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/check"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/identities"
	"ledge/cmd/internal/metrics"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/registry"
	"ledge/cmd/internal/retention"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/handlers"
	"ledge/handlers/access"
	"ledge/handlers/identity"
	"ledge/projections"
	"ledge/store/bus"
	"ledge/store/payloads"
	"ledge/store/secrets"
	"ledge/store/transparency"
)

// Server is the running server: everything that `ledge serve` starts, in the order in which it is started.
type Server struct {
	*background

	Config *config.Config
	Logger *slog.Logger
	// Version is the version of ledge.
	Version string
	// Source has the source of the value of each setting; nil: all have their defaults.
	Source map[string]string
	// Now is the clock of requests, deliveries, cleanups and retention; nil is the clock of the machine.
	Now func() time.Time
	// Terminal, if it is not nil, is told how people and clients reach the server.
	Terminal io.Writer
	// NoDelivery keeps the server from sending anything: notifications, callbacks, commands, and copies for a hub.
	NoDelivery bool
	// Fold tells how far the fold of a long start is; nil is a new one.
	Fold *node.FoldLog

	// The parts that Run opens, and that work until Close.
	Node     *node.Node
	Channels *channels.Channels
	Remover  *retention.Remover

	files      descriptors
	units      domain.UnitsOfMeasure
	addresses  secure.Addresses // that are listened on
	servers    *servers
	tls        tlsParts
	payloads   *payloads.Files
	secrets    *secrets.File
	identities *identities.Identities
	verifier   *check.Verifier
	access     *access.Access // of requests
	// hubPassword and registryToken are credentials; empty for none.
	hubPassword, registryToken string
	// authenticator proves identities, once the state can be asked.
	authenticator atomic.Pointer[identity.Authenticator]
	admin         *admin.Socket // nil if this system has none
	instance      string        // id of this run, in the header that ends loops
	meters        *metrics.Meters
	forecast      *datadir.Forecast  // of the free disk space
	bus           *bus.Bus           // the NATS server for clients; nil if it is off
	messagePorts  map[string]string  // the addresses at which the bus listens for clients of redis and mqtt
	readings      *edgex.Readings    // of EdgeX's message bus; nil without a bus
	events        *edgex.Events      // for EdgeX's message bus; nil without a bus
	transparency  *transparency.Log  // of the log of changes
	past          *handlers.Past     // of the log of changes
	registry      *registry.Registry // nil without the setting registry
	limits        *limits            // of retention
	running       atomic.Bool        // all parts are there
}

// Run starts all services and returns when they answer. On an error nothing is left running.
func (p *Server) Run(ctx context.Context) (err error) {
	p.background, p.instance = newBackground(p.findCause), newInstance()
	if p.Now == nil {
		p.Now = time.Now
	}
	defer func() {
		if err != nil {
			err = p.findCause(err)
			p.stopWorkers()
			p.Close()
		}
	}()
	if err := node.CheckClock(p.Now()); err != nil {
		return err
	}
	most, err := mostDescriptors()
	if err != nil {
		return fmt.Errorf("read the limit of file descriptors: %w", err)
	}
	if p.files, err = splitDescriptors(most); err != nil {
		return exit.With(exit.Usage, err)
	}
	if p.units, err = config.ReadUnits(p.Config.UnitsFile); err != nil {
		return exit.With(exit.Usage, err)
	}
	if p.addresses, err = secure.FindAddresses(ctx, p.Config.BindSettings(), p.Config.AllowInsecure || p.Config.Secure); err != nil {
		return err
	}
	secretKey, err := secure.FindSecretKey(p.Config.DataDir)
	if err != nil {
		return err
	}
	if p.hubPassword, err = secure.ReadCredential(secure.HubPassword); err != nil {
		return err
	}
	if p.registryToken, err = secure.ReadCredential(secure.RegistryToken); err != nil {
		return err
	}
	lock, err := datadir.Lock(p.Config.DataDir) // which may take the right to read these files away
	if err != nil {
		return err
	}
	p.onClose(lock.Release)
	if err := datadir.CheckFiles(p.Config.DataDir); err != nil {
		return exit.With(exit.Folder, err)
	}
	spare := datadir.NewSpare(p.Config.DataDir, int64(p.Config.DiskReserve), int64(p.Config.ReadingsReserve()), p.Logger)
	spare.Release()
	p.onClose(func() {
		if p.Node != nil { // a start that fails before leaves nothing in a new folder
			spare.MakeAtStop()
		}
	})
	if p.servers, err = listen(ctx, p.Config, p.addresses, p.Logger); err != nil {
		return err
	}
	p.onClose(p.servers.close)
	if p.secrets, err = secure.OpenSecrets(p.Config.Paths(), secretKey); err != nil {
		return err
	}
	if err := p.openTLS(); err != nil {
		return err
	}
	if p.Fold == nil {
		p.Fold = node.NewFoldLog(p.Logger)
	}
	p.servers.open(p)
	p.openAdmin()
	if err := p.openData(ctx); err != nil {
		return err
	}
	if err := p.openPayloads(); err != nil {
		return err
	}
	for _, warning := range datadir.WorldWritable(p.Config.Paths().Written()...) {
		p.Logger.Warn(warning)
	}
	if err := p.seed(ctx); err != nil {
		return err
	}
	p.verifier = check.NewVerifier(p.Node, p.Config.Paths())
	if err := p.startIdentities(ctx); err != nil {
		return err
	}
	p.past = handlers.NewPast(history.NewPast(p.Node.Past()))
	if err := openTransparency(p); err != nil {
		return err
	}
	if err := openMessagePorts(ctx, p); err != nil {
		return err
	}
	if err := p.openChannels(ctx); err != nil {
		return err
	}
	if err := p.startAccess(); err != nil {
		return err
	}
	if err := p.Channels.Start(); err != nil {
		return err
	}
	if p.limits, err = openLimits(p); err != nil {
		return err
	}
	o := removalOptions(p.Config, p.limits.inForce.Load())
	o.Payloads, o.Logger, o.Now = p.payloads, p.Logger, p.Now
	p.Remover = retention.New(p.Node, o)
	p.readings, p.events = newReadings(p), newEvents(p)
	p.registry = newRegistry(p)
	p.meters = metrics.Open(p.meterOptions())
	p.Node.Store.Observe(p.meters.ObserveAppends())
	p.inBackground(p.Remover.Workers()...)
	p.forecast = datadir.NewForecast(p.Node.Store.FreeBytes, uint64(p.Config.ReadingsReserve()))
	p.inBackground(p.watch, spare.Run, p.meters.CountDeliveries, p.transparency.KeepUp, p.forecast.Run)
	p.running.Store(true)
	p.servers.serve()
	p.inBackground(append(publishEvents(p), takeReadings(p))...)
	p.onClose(p.stopWorkers)
	p.onClose(p.servers.shutdown)
	p.onClose(p.Channels.Commands.Close) // their outcomes are recorded before the services have stopped
	startRegistry(p)
	if reason := closedReason(p); reason != "" {
		p.Logger.Warn(reason)
	}
	warnOfOpenAddresses(p)
	var ready []any
	for _, one := range services.All {
		ready = append(ready, one.Key, p.servers.url(one.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(p.messagePorts)) {
		ready = append(ready, name, p.messagePorts[name])
	}
	ready = append(ready, "nats", p.bus.URL(), "pid", os.Getpid(), "data", p.Config.DataDir)
	p.Logger.Info("ready", append(ready, p.tls.describeCA(p.Config.DataDir)...)...)
	printWelcome(p)
	tellSystemd(p)
	return nil
}

// startedSoFar says how far the start has come, for clients. In secure mode it does not, since nobody can log in yet.
func (p *Server) startedSoFar() string {
	if p.Config.Secure {
		return ""
	}
	return p.Fold.Progress()
}

// URL returns the URL of a service for clients.
func (p *Server) URL(service string) string { return p.servers.url(service) }

// Address returns the host and port at which a service listens.
func (p *Server) Address(service string) string { return p.servers.address(service) }

// watch returns the error of the part that fails first.
func (p *Server) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-p.Node.Store.Failed():
		return err
	case err := <-p.Node.Failed:
		return err
	case err := <-p.Channels.Engine.Failed():
		return err
	case err := <-p.Channels.Delivery.Failed():
		return err
	case err := <-p.Channels.Callbacks.Failed():
		return err
	}
}

// findCause returns the failure of the state or of the log if there is one, and otherwise err.
func (p *Server) findCause(err error) error {
	if p.Node == nil {
		return err
	}
	return p.Node.FindCause(err)
}

// seed writes device-rest and the samples, unless an earlier start did. It does not hold the state meanwhile.
func (p *Server) seed(ctx context.Context) error {
	var written bool
	err := p.Node.Changes.Read(func(v *projections.View) error {
		written = domain.SamplesWritten(v.State)
		return nil
	})
	if err != nil || written {
		return err
	}
	now := p.Now()
	commands := sampleCommands(p.servers.scheme(), p.servers.address(services.DeviceREST), p.Config.Samples, now.UnixMilli())
	return seedSamples(ctx, commands, p.Node.Changes.Appender, now)
}

func (p *Server) openPayloads() (err error) {
	p.payloads, err = payloads.Open(p.Config.Paths().Payloads(), payloads.Options{
		ReserveBytes: int64(p.Config.ReadingsReserve()), FreeBytes: p.Node.Room.Free,
	})
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	p.Node.Room.AddValues(p.Config.Paths().Payloads(), p.payloads.Bytes)
	if err := datadir.MakePrivate(p.Config.Paths().Payloads()); err != nil {
		p.Logger.Warn("other users of this machine may read the payloads: the mode of their folder cannot be changed", "error", err)
	}
	return nil
}

// closedReason returns the reason why the server sends nothing; "" if it does.
func closedReason(p *Server) string {
	if !p.NoDelivery {
		return ""
	}
	return "this server delivers nothing and calls nobody: it was started with --no-delivery; start it without, to have it deliver"
}

// warnings are what an operator has to look at while the program works.
func (p *Server) warnings() (list []string) {
	if reason := closedReason(p); reason != "" {
		list = append(list, reason)
	}
	writable := datadir.WorldWritable(p.Config.Paths().Written()...)
	return slices.Concat(list, p.forecast.Warnings(), p.Remover.Warnings(), p.bus.Warnings(), p.registry.Warnings(), writable)
}
