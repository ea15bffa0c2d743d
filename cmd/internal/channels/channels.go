// Package channels sends notifications on the channels of subscriptions, and callbacks and commands to device services. It
// wires the packages below bridge, and explains why something did not arrive.
package channels

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledge/bridge"
	"ledge/bridge/callback"
	"ledge/bridge/command"
	"ledge/bridge/delivery"
	"ledge/bridge/guard"
	"ledge/bridge/sockets"
	"ledge/bridge/zeromq"
	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/node"
	"ledge/domain"
	"ledge/domain/history"
	"ledge/store/secrets"
)

// Options wire the channels.
type Options struct {
	Node                                *node.Node
	Secrets                             *secrets.File
	DenyDestinations, AllowDestinations guard.Rules    // see the settings of these names
	AllowBinds                          guard.Rules    // of ZeroMQ channels
	Closed                              string         // the reason why nothing is sent or bound; empty: everything is
	SMTPServer                          string         // URL of the mail server; empty without one
	Resend                              bridge.Resend  // for subscriptions that say nothing of it
	OwnPorts                            map[int]string // that the program listens on, with the listener
	ZeroMQDescriptors                   int            // file descriptors for ZeroMQ sockets and their peers
	OutgoingDescriptors                 int            // file descriptors for sends
	Instance                            string         // id of this run, which ends loops of requests
	Now                                 func() time.Time
	Logger                              *slog.Logger
}

// Channels is all that goes out: from the events of a node to channels and callbacks, and commands.
type Channels struct {
	Options
	Guard     *guard.Guard
	Sockets   sockets.Sockets
	Names     socketNames
	Engine    *bridge.Engine
	Delivery  *delivery.Delivery
	Callbacks *callback.Callbacks
	Commands  *command.Sender
	senders   map[string]delivery.Sender                      // by the types of channels
	checks    map[string]func(domain.Channel) domain.Problems // likewise; nil checks nothing
	curveKey  []byte                                          // private key of CURVE
	closers   []func()
}

// Open binds the sockets and follows the log from where the last run ended. Nothing is sent on other channels before start. On an
// error nothing is left open.
func Open(ctx context.Context, o Options) (*Channels, error) {
	cs := &Channels{Options: o}
	if err := cs.open(ctx); err != nil {
		cs.Close()
		return nil, err
	}
	return cs, nil
}

func (cs *Channels) open(ctx context.Context) error {
	cs.Guard = cs.newGuard()
	cs.Commands = command.New(command.Options{
		Limits: command.Limits{Concurrency: cs.outgoing("commands", command.DefaultConcurrency, cs.OutgoingDescriptors/4)},
		Guard:  cs.Guard, Self: cs.Instance,
	})
	cs.onClose(cs.Commands.Close)
	if err := cs.openKinds(); err != nil {
		return exit.With(exit.Usage, err)
	}
	hosts := newResolver()
	if err := cs.openCurveKey(); err != nil {
		return err
	}
	o := cs.socketOptions()
	o.Lookup = hosts.Known
	cs.Sockets = sockets.Sockets{Sockets: zeromq.NewSockets(o)}
	cs.Names = socketNames{hosts, cs.Sockets.Sockets}
	cs.onClose(func() { cs.Sockets.Close(socketLinger) })
	cs.Engine = bridge.New(bridge.Options{
		Events: history.Followed{Log: cs.Node.Changes.Appender, Entities: cs.Node.Entities, Want: history.Notified}, Notifications: cs.Node.Notifications.Appender, Sockets: cs.Sockets, LookUp: cs.Names.before,
		Now: cs.Now, Logger: cs.Logger, History: cs.Node.Entities.ReadSubscriptions, Recorded: cs.Node.Changes.Recorded, Noted: cs.Node.Notifications.Recorded, Pending: func() ([]domain.Notification, error) { return pending(cs.Node) },
		Resend: cs.Resend,
	})
	at, err := bridgeStart(cs.Node)
	if err != nil {
		return err
	}
	if err := cs.Engine.Start(ctx, at); err != nil {
		return fmt.Errorf("start the bridge: %w", err)
	}
	cs.onClose(cs.Engine.Close)
	return nil
}

// Start delivers on the channels that take time, and calls device services back.
func (cs *Channels) Start() error {
	if err := cs.startDelivery(); err != nil {
		return err
	}
	return cs.startCallbacks()
}

func (cs *Channels) onClose(f func()) { cs.closers = append(cs.closers, f) }

// Close ends all of it, the last that was opened first. All deliveries are recorded.
func (cs *Channels) Close() {
	for i := len(cs.closers) - 1; i >= 0; i-- {
		cs.closers[i]()
	}
	cs.closers = nil
}
