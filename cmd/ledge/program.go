package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"ledge/bridge"
	"ledge/bridge/zeromq"
	"ledge/store/payloads"
)

// Program is the running server: everything that `ledge serve` starts, in the order in which it is started.
type Program struct {
	Config *Config
	Logger *slog.Logger

	servers  *servers
	data     *data
	payloads *payloads.Files
	sockets  *zeromq.Sockets
	engine   *bridge.Engine
	closers  []func()
}

// Run starts all services and returns when they answer. On an error nothing is left running.
func (p *Program) Run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	lock, err := lockDataDir(p.Config.DataDir)
	if err != nil {
		return err
	}
	p.onClose(lock.release)
	if p.servers, err = listen(ctx, p.Config, p.Logger); err != nil {
		return err
	}
	p.onClose(p.servers.close)
	if p.data, err = openData(ctx, p.Config, p.Config.TapPort, p.Logger); err != nil {
		return err
	}
	p.onClose(p.data.close)
	if p.payloads, err = payloads.Open(filepath.Join(p.Config.DataDir, "payloads")); err != nil {
		return exitError{exitFolder, err}
	}
	if err := syncFolder(p.Config.DataDir); err != nil { // else a power cut could take the new folder with its bodies
		return exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	}
	if err := p.seed(ctx); err != nil {
		return err
	}
	if err := p.startBridge(); err != nil {
		return err
	}
	done := make(chan struct{})
	p.onClose(func() { close(done) })
	go tuneMemory(done, p.data.activity)
	p.servers.serve(p)
	p.onClose(p.servers.shutdown)
	if err := lock.write(p.data.store.TapURL()); err != nil {
		return exitError{exitFolder, fmt.Errorf("setting data-dir: %w", err)}
	}
	p.Logger.Info("ready", "metadata", p.servers.url(metadataService), "device-rest", p.servers.url(deviceRESTService),
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

// Failed yields the error that makes it wrong to go on.
func (p *Program) Failed() <-chan error { return p.engine.Failed() }

func (p *Program) seed(ctx context.Context) error {
	state, done := p.data.state.State()
	defer done()
	return seedSamples(ctx, p.servers.address(deviceRESTService), state, p.data.events)
}

func (p *Program) startBridge() error {
	c := p.Config
	p.sockets = zeromq.NewSockets(zeromq.Options{
		MaxSubscribers: c.ZeroMQSubscribers, QueueMessages: c.ZeroMQQueueMessages, QueueBytes: int(c.ZeroMQQueueBytes),
		HandshakeTimeout: c.ZeroMQHandshakeTime, StallTimeout: c.ZeroMQStallTime, MaxFrame: int(c.ZeroMQMaxFrame),
		Logger: p.Logger,
	})
	p.onClose(func() { p.sockets.Close(c.ZeroMQLinger) })
	p.engine = bridge.New(bridge.Options{
		Events: p.data.events, Notifications: p.data.notifications, Sockets: p.sockets, Now: now, Logger: p.Logger,
		History: p.data.history, Recorded: p.data.recorded, Pending: p.data.pending,
	})
	at, err := p.data.bridgeStart()
	if err != nil {
		return err
	}
	if err := p.engine.Start(context.Background(), at); err != nil {
		return fmt.Errorf("start the bridge: %w", err)
	}
	p.onClose(p.engine.Close)
	return nil
}
