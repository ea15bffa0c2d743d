package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ledge/bridge"
	"ledge/bridge/asof"
	"ledge/bridge/callback"
	"ledge/bridge/delivery"
	"ledge/bridge/guard"
	"ledge/bridge/sockets"
	"ledge/bridge/zeromq"
	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/certs"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/retention"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/identity"
	"ledge/handlers/transport"
	"ledge/store/payloads"
	"ledge/store/secrets"
	"ledge/store/tap"
)

// Program is the running server: everything that `ledge serve` starts, in the order in which it is started.
type Program struct {
	Config *config.Config
	Logger *slog.Logger
	// Source says of each setting where its value comes from; nil: from its default.
	Source map[string]string
	// Now is the clock of requests, deliveries, cleanups and retention; nil is that of the machine.
	Now func() time.Time
	// Terminal, where it is not nil, is told how people and clients reach the server.
	Terminal io.Writer

	files      descriptors
	units      domain.UnitsOfMeasure
	addresses  addresses // that are listened on
	servers    *servers
	keeper     certs.Keeper                  // nil without secure
	clients    atomic.Pointer[x509.CertPool] // CAs of client certificates
	authority  *certs.Authority              // that signs the certificate; nil where it comes from files
	transport  *transport.Options            // nil without secure
	tapTLS     *tls.Config                   // nil without secure
	node       *node.Node
	payloads   *payloads.Files
	secrets    *secrets.File
	remover    *retention.Remover
	guard      *guard.Guard
	out        channelSenders
	sockets    sockets.Sockets
	curveKey   []byte // private key of CURVE
	names      socketNames
	engine     *bridge.Engine
	delivery   *delivery.Delivery
	callback   *callback.Callbacks
	identities *identities
	verifier   *verifier
	access     *handlers.Access // of requests
	// authenticator proves identities, once the state can be asked.
	authenticator atomic.Pointer[identity.Authenticator]
	fold          *node.FoldLog
	admin         *admin.Socket // nil where this system has none
	instance      string        // id of this run, in the header that ends loops
	failed        chan error
	meters        *meters
	running       atomic.Bool // all parts are there
	closers       []func()
}

// Run starts all services and returns when they answer. On an error nothing is left running.
func (p *Program) Run(ctx context.Context) (err error) {
	p.failed, p.instance = make(chan error, 1), newInstance()
	if p.Now == nil {
		p.Now = time.Now
	}
	defer func() {
		if err != nil {
			err = p.findCause(err)
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
	if p.addresses, err = findAddresses(ctx, p.Config); err != nil {
		return err
	}
	lock, err := datadir.Lock(p.Config.DataDir)
	if err != nil {
		return err
	}
	p.onClose(lock.Release)
	if err := datadir.CheckFiles(p.Config.DataDir); err != nil {
		return exit.With(exit.Folder, err)
	}
	spare := datadir.NewSpare(p.Config.DataDir, int64(p.Config.DiskReserve), int64(p.Config.ReadingsReserve()), p.Logger)
	spare.Release()
	p.onClose(func() { spare.KeepRest() })
	if p.secrets, err = openSecrets(p.Config.Paths()); err != nil {
		return err
	}
	if err := p.secure(); err != nil {
		return err
	}
	if p.servers, err = listen(ctx, p.Config, p.addresses, p.Logger); err != nil {
		return err
	}
	p.onClose(p.servers.close)
	if p.fold == nil {
		p.fold = node.NewFoldLog(p.Logger)
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
	p.verifier = p.newVerifier()
	if err := p.startIdentities(ctx); err != nil {
		return err
	}
	if err := p.startBridge(ctx); err != nil {
		return err
	}
	if err := p.startAccess(); err != nil {
		return err
	}
	if err := p.startDelivery(); err != nil {
		return err
	}
	if err := p.startCallbacks(ctx); err != nil {
		return err
	}
	o := removalOptions(p.Config)
	o.Payloads, o.Logger, o.Now = p.payloads, p.Logger, p.Now
	p.remover = retention.New(p.node, o)
	p.inBackground(func(done <-chan struct{}) { p.until(done, p.remover.Workers()...) })
	p.inBackground(p.watch)
	p.inBackground(spare.Run)
	p.meters = newMeters()
	p.meters.register(p)
	p.node.Store.Observe(p.meters.appends)
	p.inBackground(p.countDeliveries)
	p.running.Store(true)
	p.servers.serve()
	p.onClose(p.servers.shutdown)
	p.warnOfOpenAddresses()
	var ready []any
	for _, one := range services.All {
		ready = append(ready, one.Key, p.servers.url(one.Name))
	}
	ready = append(ready, "tap", p.node.Store.Tap().URL(), "pid", os.Getpid(), "data", p.Config.DataDir)
	p.Logger.Info("ready", append(ready, p.trust()...)...)
	p.welcome()
	p.tellSystemd()
	return nil
}

// startedSoFar says how far the start has come, for clients. In secure mode it does not, since nobody can log in yet.
func (p *Program) startedSoFar() string {
	if p.Config.Secure {
		return ""
	}
	return p.fold.Progress()
}

func (p *Program) onClose(f func()) { p.closers = append(p.closers, f) }

// Close stops what Run started, the last first: requests in work are answered, what was delivered is recorded, the log
// is closed clean.
func (p *Program) Close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
	p.closers = nil
}

// inBackground runs f until Close, which waits for it.
func (p *Program) inBackground(f func(done <-chan struct{})) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { f(done) })
	p.onClose(func() { close(done); running.Wait() })
}

// Failed yields, once, the error that makes it wrong to go on: of the store, of the bridge or of a service.
func (p *Program) Failed() <-chan error { return p.failed }

func (p *Program) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// watch passes on what fails first.
func (p *Program) watch(done <-chan struct{}) {
	select {
	case <-done:
	case err := <-p.node.Store.Failed():
		p.fail(p.findCause(err))
	case err := <-p.node.Failed:
		p.fail(err)
	case err := <-p.engine.Failed():
		p.fail(p.findCause(err))
	case err := <-p.delivery.Failed():
		p.fail(p.findCause(err))
	case err := <-p.callback.Failed():
		p.fail(p.findCause(err))
	}
}

// findCause returns the failure of the state or of the log if there is one, and otherwise err.
func (p *Program) findCause(err error) error {
	if p.node == nil {
		return err
	}
	return p.node.FindCause(err)
}

// seed writes the samples, where they never were. It does not hold the state meanwhile.
func (p *Program) seed(ctx context.Context) error {
	var written bool
	err := p.node.Read(func() error {
		state, release := p.node.Changes.State.State()
		defer release()
		written = domain.SamplesWritten(state)
		return nil
	})
	if err != nil || written {
		return err
	}
	return seedSamples(ctx, p.servers.scheme(), p.servers.address(services.DeviceREST), p.node.Changes.Appender, p.Now())
}

// removalOptions returns the limits of the logs.
func removalOptions(c *config.Config) retention.Options {
	return retention.Options{
		Rules: c.ReadingsRetention, ReadingsMaxBytes: c.ReadingsMaxBytes, NotificationsMaxBytes: c.NotificationsMaxBytes, EventsMaxBytes: c.EventsMaxBytes,
		ReadingsMaxAge: c.ReadingsMaxAge, NotificationsMaxAge: c.NotificationsMaxAge, EventsMaxAge: c.EventsMaxAge,
		ReserveBytes: int64(c.DiskReserve), Paths: c.Paths(),
	}
}

// until runs each of work until done is closed. One that ends before fails the program.
func (p *Program) until(done <-chan struct{}, work ...func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	for _, f := range work {
		running.Go(func() {
			if err := f(ctx); ctx.Err() == nil {
				p.fail(p.findCause(err))
			}
		})
	}
	<-done
	stop()
	running.Wait()
}

// openData opens the log and the state. The port of taps is tried before.
func (p *Program) openData(ctx context.Context) (err error) {
	c := p.Config
	o := nodeOptions(c, p.Logger)
	o.Folding, o.Now = p.fold.Folding, p.Now
	if c.TapPort >= 0 {
		o.Tap = &tap.Options{Host: p.addresses.host("tap-host", c.TapHost), Port: c.TapPort, Descriptors: p.files.Tap}
		if t := p.transport; t != nil {
			o.Tap.TLS, o.Tap.Login, o.Tap.Still = p.tapTLS, p.tapLogin, p.tapStill
		}
		if err := whenFree(ctx, p.Logger, o.Tap.Host, o.Tap.Port, func() error { return o.Tap.Check(ctx) }); err != nil {
			return node.WithCode(err)
		}
	}
	if p.node, err = node.Open(ctx, o); err != nil {
		return err
	}
	p.onClose(func() { _ = p.node.Close() })
	return nil
}

func (p *Program) openPayloads() (err error) {
	p.payloads, err = payloads.Open(p.Config.Paths().Payloads(), payloads.Options{ReserveBytes: int64(p.Config.ReadingsReserve())})
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	if err := datadir.MakePrivate(p.Config.Paths().Payloads()); err != nil {
		p.Logger.Warn("other users of this machine may read the payloads: the mode of their folder cannot be changed", "error", err)
	}
	return nil
}

// warnings are what an operator has to look at while the program works.
func (p *Program) warnings() []string {
	return append(p.remover.Warnings(), datadir.WorldWritable(p.Config.Paths().Written()...)...)
}

func (p *Program) startBridge(ctx context.Context) error {
	c := p.Config
	p.guard = p.newGuard()
	out, err := p.newSenders()
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	p.out = out
	p.onClose(out.close)
	hosts := newResolver()
	if err := p.openCurveKey(); err != nil {
		return err
	}
	o := p.socketOptions()
	o.Lookup = hosts.Known
	p.sockets = sockets.Sockets{Sockets: zeromq.NewSockets(o)}
	p.names = socketNames{hosts, p.sockets.Sockets}
	p.onClose(func() { p.sockets.Close(socketLinger) })
	p.engine = bridge.New(bridge.Options{
		Events: asof.Followed{Log: p.node.Changes.Appender, Entities: p.node.Entities, Want: asof.Notified}, Notifications: p.node.Notifications.Appender, Sockets: p.sockets, LookUp: p.names.before,
		Now: p.Now, Logger: p.Logger, History: p.node.Entities.ReadSubscriptions, Recorded: p.node.Changes.Recorded, Noted: p.node.Notifications.Recorded, Pending: func() ([]domain.Notification, error) { return pending(p.node) },
		Resend: bridge.Resend{Limit: c.ResendLimit, Interval: c.ResendInterval},
	})
	at, err := bridgeStart(ctx, p.node)
	if err != nil {
		return err
	}
	if err := p.engine.Start(ctx, at); err != nil {
		return fmt.Errorf("start the bridge: %w", err)
	}
	p.onClose(p.engine.Close)
	return nil
}
