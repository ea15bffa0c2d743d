package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"

	"ledge/bridge/edgex"
	"ledge/bridge/redis"
	"ledge/cmd/internal/exit"
	"ledge/store/bus"
)

// openRedis listens for Redis clients, if the setting redis-port is on. They share the descriptors of NATS clients.
func openRedis(ctx context.Context, p *Server) error {
	c := p.Config
	if c.RedisPort < 0 {
		return nil
	}
	host := p.addresses.Host("nats-host", c.NATSHost)
	var l net.Listener
	err := whenFree(ctx, p.Logger, host, c.RedisPort, func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(c.RedisPort)))
		return err
	})
	if err != nil {
		return exit.With(exit.Port, fmt.Errorf("settings nats-host and redis-port: %w; stop what uses the address, choose another, "+
			"or set redis-port to -1 for no Redis clients", err))
	}
	share := natsDescriptors(p)
	o := redis.Options{
		Connections: min(redis.Connections, max(share*3/4, 1)), Logger: p.Logger,
		Publish: func(ctx context.Context, m edgex.Message) error {
			return p.bus.EdgeX().PublishAcknowledged(ctx, bus.Message(m))
		},
	}
	o.Arrived = min(redis.Arrived, max(share-o.Connections, 1))
	p.redisAddress = l.Addr().String()
	if c.Secure {
		o.Login, o.Still = p.natsLogin, p.natsStill
		l = tls.NewListener(l, p.tls.nats)
	}
	p.redis = redis.New(o, l)
	p.onClose(p.redis.Close)
	return nil
}

// natsDescriptors is how many descriptors NATS clients may have, and Redis clients as many.
func natsDescriptors(p *Server) int {
	if p.Config.RedisPort < 0 {
		return p.files.NATS
	}
	return p.files.NATS / 2
}
