package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ledge/bridge"
	"ledge/bridge/callback"
	"ledge/bridge/delivery"
	"ledge/bridge/guard"
	"ledge/bridge/zeromq"
	"ledge/domain"
	"ledge/store/payloads"
	"ledge/store/secrets"
)

// Program is the running server: everything that `ledge serve` starts, in the order in which it is started.
type Program struct {
	Config *Config
	Logger *slog.Logger
	// Now is the clock of requests, deliveries, cleanups and retention; nil is that of the machine. What JetStream removes by
	// readings-max-age goes by the machine's.
	Now func() time.Time

	units    domain.UnitsOfMeasure
	servers  *servers
	data     *data
	payloads *payloads.Files
	secrets  *secrets.File
	keeping  *retention
	aging    *aging
	counted  payloadCount
	guard    *guard.Guard
	out      waysOut
	sockets  *zeromq.Sockets
	engine   *bridge.Engine
	delivery *delivery.Delivery
	callback *callback.Callbacks
	failed   chan error
	closers  []func()
}

// Run starts all services and returns when they answer. On an error nothing is left running.
func (p *Program) Run(ctx context.Context) (err error) {
	p.failed = make(chan error, 1)
	if p.Now == nil {
		p.Now = now
	}
	defer func() {
		if err != nil {
			err = p.cause(err)
			p.Close()
		}
	}()
	if p.units, err = readUnits(p.Config.UnitsFile); err != nil {
		return exitError{exitUsage, err}
	}
	lock, err := lockDataDir(p.Config.DataDir)
	if err != nil {
		return err
	}
	p.onClose(lock.release)
	if p.secrets, err = secrets.Open(filepath.Join(p.Config.DataDir, "secrets.json")); err != nil {
		return exitError{exitFolder, err}
	}
	if p.servers, err = listen(ctx, p.Config, p.Logger); err != nil {
		return err
	}
	p.onClose(p.servers.close)
	if p.data, err = openData(ctx, p.Config, p.Config.TapPort, p.Logger); err != nil {
		return err
	}
	p.onClose(func() { _ = p.data.close() })
	p.data.now = p.Now
	if err := p.openPayloads(); err != nil {
		return err
	}
	if err := p.seed(ctx); err != nil {
		return err
	}
	if err := p.startBridge(ctx); err != nil {
		return err
	}
	if err := p.startDelivery(ctx); err != nil {
		return err
	}
	if err := p.startCallbacks(ctx); err != nil {
		return err
	}
	if p.keeping, err = newRetention(ctx, p.Config, p.data); err != nil {
		return err
	}
	p.aging = newAging(p.Config, p.data)
	p.inBackground(p.sweep)
	p.inBackground(func(done <-chan struct{}) { p.until(done, p.newCollector().run) })
	p.inBackground(func(done <-chan struct{}) { tuneMemory(done, p.Config.memoryTarget(), p.data.activity) })
	p.inBackground(p.watch)
	p.servers.serve(p)
	p.onClose(p.servers.shutdown)
	if err := lock.write(p.data.store.TapURL()); err != nil {
		return exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	}
	p.Logger.Info("ready", "metadata", p.servers.url(metadataService), "core-data", p.servers.url(dataService), "device-rest", p.servers.url(deviceRESTService),
		"notifications", p.servers.url(notificationsService), "tap", p.data.store.TapURL(), "pid", os.Getpid(), "data", p.Config.DataDir)
	return nil
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
	case err := <-p.data.store.Failed():
		p.fail(err)
	case err := <-p.engine.Failed():
		p.fail(p.cause(err))
	case err := <-p.delivery.Failed():
		p.fail(p.cause(err))
	case err := <-p.callback.Failed():
		p.fail(p.cause(err))
	}
}

// cause returns why the log refuses, where it does: then err only follows from that.
func (p *Program) cause(err error) error {
	if p.data == nil {
		return err
	}
	select {
	case failed := <-p.data.store.Failed():
		return damaged(failed)
	default:
		return err
	}
}

// seed writes the samples, where they never were. It does not hold the state meanwhile.
func (p *Program) seed(ctx context.Context) error {
	state, release := p.data.state.State()
	written := domain.SamplesWritten(state)
	release()
	if written {
		return nil
	}
	return seedSamples(ctx, p.servers.address(deviceRESTService), p.data.events, p.Now())
}

func (p *Program) openPayloads() (err error) {
	p.payloads, err = payloads.Open(p.Config.payloadDir(), payloads.Options{ReserveBytes: int64(p.Config.DiskReadingsReserve)})
	if err != nil {
		return exitError{exitFolder, err}
	}
	return nil
}

func (p *Program) startBridge(ctx context.Context) error {
	c := p.Config
	p.guard = p.newGuard()
	out, err := p.newWaysOut()
	if err != nil {
		return exitError{exitUsage, err}
	}
	p.out = out
	p.onClose(out.close)
	p.sockets = zeromq.NewSockets(zeromq.Options{
		MaxSubscribers: c.ZeroMQSubscribers, QueueMessages: c.ZeroMQQueueMessages, QueueBytes: int(c.ZeroMQQueueBytes),
		HandshakeTimeout: c.ZeroMQHandshakeTime, StallTimeout: c.ZeroMQStallTime, MaxFrame: int(c.ZeroMQMaxFrame), Vet: p.guard.Bind,
		Logger: p.Logger,
	})
	p.onClose(func() { p.sockets.Close(c.ZeroMQLinger) })
	p.engine = bridge.New(bridge.Options{
		Events: p.data.events, Notifications: p.data.notifications, Sockets: p.sockets, Now: p.Now, Logger: p.Logger,
		History: p.data.history, Recorded: p.data.recorded, Pending: p.data.pending,
		Resend: bridge.Resend{Limit: c.ResendLimit, Interval: c.ResendInterval},
	})
	at, err := p.data.bridgeStart()
	if err != nil {
		return err
	}
	if err := p.engine.Start(ctx, at); err != nil {
		return fmt.Errorf("start the bridge: %w", err)
	}
	p.onClose(p.engine.Close)
	return nil
}
