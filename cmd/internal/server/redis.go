package server

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/exit"
	"ledge/store/bus"
)

// openRedis has the bus listen for Redis clients, if the setting redis-port is on.
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
	p.redisAddress = l.Addr().String()
	bus.ServeRedis(p.bus, l, func(channel string, text []byte) bus.Message { return bus.Message(edgex.FromRedis(channel, text)) })
	return nil
}
