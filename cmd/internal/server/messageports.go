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

// openMessagePorts has the bus listen for clients of Redis and of MQTT, if the settings of their ports are on.
func openMessagePorts(ctx context.Context, p *Server) error {
	texts := bus.Texts{
		Decode: func(subject string, text []byte) bus.Message { return bus.Message(edgex.FromText(subject, text)) },
		Encode: func(m bus.Message) []byte { return edgex.ToText(edgex.Message(m)) },
	}
	host := p.addresses.Host("nats-host", p.Config.NATSHost)
	p.messagePorts = map[string]string{}
	for _, one := range []struct {
		name  string
		port  int
		serve func(*bus.Bus, net.Listener, bus.Texts)
	}{{"mqtt", p.Config.MQTTPort, bus.ServeMQTT}, {"redis", p.Config.RedisPort, bus.ServeRedis}} {
		if one.port < 0 {
			continue
		}
		var l net.Listener
		err := whenFree(ctx, p.Logger, host, one.port, func() (err error) {
			l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(one.port)))
			return err
		})
		if err != nil {
			const says = "settings nats-host and %s-port: %w; stop what uses the address, choose another, or set %[1]s-port to -1"
			return exit.With(exit.Port, fmt.Errorf(says, one.name, err))
		}
		p.messagePorts[one.name] = l.Addr().String()
		one.serve(p.bus, l, texts)
	}
	return nil
}
