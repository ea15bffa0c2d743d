// Package sockets are the PUB sockets of ZeroMQ channels, by channel: what bridge/zeromq needs to know of one.
package sockets

import (
	"context"
	"time"

	"ledge/bridge/zeromq"
	"ledge/domain"
)

// Sockets are those of a [zeromq.Sockets]. Its methods return that one's errors.
type Sockets struct{ *zeromq.Sockets }

// Acquire binds the socket of a channel.
func (s Sockets) Acquire(ch domain.Channel) error { return s.Sockets.Acquire(socketOf(ch)) }

// Release gives back what Acquire got.
func (s Sockets) Release(ch domain.Channel) { s.Sockets.Release(socketOf(ch)) }

// Publish sends a message to the subscribers of a channel, and returns how many they are.
func (s Sockets) Publish(ch domain.Channel, body string) (subscribers int, err error) {
	return s.Sockets.Publish(socketOf(ch), ch.Topic, body)
}

// PublishPaced is Publish at the pace of the slowest subscriber.
func (s Sockets) PublishPaced(ctx context.Context, ch domain.Channel, body string, wait time.Duration) (subscribers, lost int, err error) {
	return s.Sockets.PublishPaced(ctx, socketOf(ch), ch.Topic, body, wait)
}

// AwaitSubscriber waits for a subscriber of a channel.
func (s Sockets) AwaitSubscriber(ctx context.Context, ch domain.Channel) (subscribers int, err error) {
	return s.Sockets.AwaitSubscriber(ctx, socketOf(ch), ch.Topic)
}

func socketOf(ch domain.Channel) zeromq.Channel {
	return zeromq.Channel{Host: ch.Host, Port: ch.Port, Access: zeromq.Access{Allow: ch.Allow, ClientKeys: ch.ClientKeys}}
}
