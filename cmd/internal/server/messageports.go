package server

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"ledge/bridge/edgex"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/store/bus"
)

// openMessagePorts has the bus listen for clients of Redis and of MQTT, as the setting edgex-bus says.
func openMessagePorts(ctx context.Context, p *Server) error {
	texts := bus.Texts{
		Decode: func(subject string, text []byte) bus.Message { return bus.Message(edgex.FromText(subject, text)) },
		Encode: func(m bus.Message) []byte { return edgex.ToText(edgex.Message(m)) },
	}
	host := p.addresses.Host("nats-host", p.Config.NATSHost)
	p.messagePorts = map[string]string{}
	for _, one := range []struct {
		name  string
		serve func(*bus.Bus, net.Listener, bus.Texts)
	}{{config.BusMQTT, bus.ServeMQTT}, {config.BusRedis, bus.ServeRedis}} {
		port, on := p.Config.EdgeXBus[one.name]
		if !on {
			continue
		}
		var l net.Listener
		err := whenFree(ctx, p.Logger, host, port, func() (err error) {
			l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			return err
		})
		if err != nil {
			const says = "settings nats-host and edgex-bus: %s: %w; stop what uses the address, or choose another one"
			return exit.With(exit.Port, fmt.Errorf(says, one.name, err))
		}
		p.messagePorts[one.name] = l.Addr().String()
		one.serve(p.bus, l, texts)
	}
	return nil
}
