package server

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strconv"

	"ledge/bridge"
	"ledge/cmd/internal/channels"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/metrics"
	"ledge/cmd/internal/node"
	"ledge/cmd/internal/retention"
	"ledge/store"
	"ledge/store/bus"
)

// NodeOptions returns the options of a command that opens the log and the state.
func NodeOptions(c *config.Config, logger *slog.Logger) node.Options {
	return node.Options{
		Paths: c.Paths(), ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.ReadingsReserve()), Logger: logger,
		MaxBytes: int64(c.MaxBytes),
	}
}

// removalOptions returns the limits of the logs: of readings and notifications as in inForce, and all else as in c.
func removalOptions(c, inForce *config.Config) retention.Options {
	return retention.Options{
		Rules: inForce.ReadingsRetention, ReadingsMaxBytes: inForce.ReadingsMaxBytes, ReadingsMaxAge: inForce.ReadingsMaxAge,
		NotificationsMaxBytes: inForce.NotificationsMaxBytes, NotificationsMaxAge: inForce.NotificationsMaxAge,
		EventsMaxBytes: c.EventsMaxBytes, ReserveBytes: int64(c.DiskReserve), Paths: c.Paths(),
	}
}

// openData opens the log and the state. The port of NATS clients is tried before.
func (p *Server) openData(ctx context.Context) (err error) {
	c := p.Config
	o := NodeOptions(c, p.Logger)
	o.Folding, o.Now = p.Fold.Folding, p.Now
	natsOptions := p.busOptions()
	o.Messages = true // for the bus, and for streams of events
	if natsOptions != nil {
		if err := whenFree(ctx, p.Logger, natsOptions.Host, natsOptions.Port, func() error { return natsOptions.Check(ctx) }); err != nil {
			return node.WithCode(err)
		}
	}
	if p.Node, err = node.Open(ctx, o); err != nil {
		return err
	}
	p.onClose(func() { _ = p.Node.Close() })
	if natsOptions == nil {
		return nil
	}
	var logs []*store.Appender
	for _, part := range p.Node.Parts() {
		logs = append(logs, part.Appender)
	}
	if p.bus, err = bus.Open(ctx, *natsOptions, logs...); err != nil {
		return node.WithCode(err)
	}
	p.onClose(p.bus.Close)
	return nil
}

// busOptions returns the options of the NATS server for clients, nil if it is off.
func (p *Server) busOptions() *bus.Options {
	c := p.Config
	if c.NATSPort < 0 {
		return nil
	}
	o := &bus.Options{
		Host: p.addresses.Host("nats-host", c.NATSHost), Port: c.NATSPort, Dir: c.Paths().Bus(), MaxBytes: int64(c.BusMaxBytes),
		Descriptors: p.files.NATS, Logger: p.Logger,
	}
	if c.Secure {
		o.TLS, o.Login, o.Still = p.tls.nats, p.natsLogin, p.natsStill
	}
	urls, node := c.HubURLs()
	if len(urls) == 0 || p.NoDelivery {
		return o
	}
	for _, at := range urls {
		at.User = url.UserPassword(node, p.hubPassword)
	}
	o.Hub = &bus.Hub{URLs: urls, Node: node}
	return o
}

// openChannels opens the channels. Its own ports are the ports on which the program listens now.
func (p *Server) openChannels(ctx context.Context) (err error) {
	own := map[int]string{}
	for name := range p.servers.byName {
		own[portOf(p.servers.address(name))] = name
	}
	if at, err := url.Parse(p.bus.URL()); err == nil && at.Host != "" {
		own[portOf(at.Host)] = "NATS clients"
	}
	for name, address := range p.messagePorts {
		own[portOf(address)] = name + " clients"
	}
	c := p.Config
	p.Channels, err = channels.Open(ctx, channels.Options{
		Node: p.Node, Secrets: p.secrets, DenyDestinations: c.DenyDestinations, AllowDestinations: c.AllowDestinations, AllowBinds: c.AllowBinds,
		SMTPServer: c.SMTPServer, Resend: bridge.Resend{Limit: c.ResendLimit, Interval: c.ResendInterval}, OwnPorts: own,
		Closed:            closedReason(p),
		ZeroMQDescriptors: p.files.ZeroMQ, OutgoingDescriptors: p.files.Outgoing, Instance: p.instance, Now: p.Now, Logger: p.Logger,
	})
	if err != nil {
		return err
	}
	p.onClose(p.Channels.Close)
	return nil
}

// meterOptions returns the sources of the metrics.
func (p *Server) meterOptions() metrics.Options {
	o := metrics.Options{
		Node: p.Node, Bus: p.bus, Readings: p.readings, Events: p.events, Payloads: p.payloads, Remover: p.Remover, Channels: p.Channels,
		Access: p.access, Authenticator: p.authenticator.Load(),
		Limiter: p.servers.limiter, Keeper: p.tls.keeper, Version: p.Version, Now: p.Now, Logger: p.Logger,
	}
	if p.tls.transport != nil {
		o.Handshakes = p.tls.transport.Failures
	}
	return o
}

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}
