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
	"ledge/store/tap"
)

// NodeOptions returns the options of a command that opens the log and the state.
func NodeOptions(c *config.Config, logger *slog.Logger) node.Options {
	return node.Options{Paths: c.Paths(), ReserveBytes: int64(c.DiskReserve), ReadingsReserveBytes: int64(c.ReadingsReserve()), Logger: logger}
}

// removalOptions returns the limits of the logs.
func removalOptions(c *config.Config) retention.Options {
	return retention.Options{
		Rules: c.ReadingsRetention, ReadingsMaxBytes: c.ReadingsMaxBytes, NotificationsMaxBytes: c.NotificationsMaxBytes, EventsMaxBytes: c.EventsMaxBytes,
		ReadingsMaxAge: c.ReadingsMaxAge, NotificationsMaxAge: c.NotificationsMaxAge, EventsMaxAge: c.EventsMaxAge,
		ReserveBytes: int64(c.DiskReserve), Paths: c.Paths(),
	}
}

// openData opens the log and the state. The port of taps is tried before.
func (p *Server) openData(ctx context.Context) (err error) {
	c := p.Config
	o := NodeOptions(c, p.Logger)
	o.Folding, o.Now = p.Fold.Folding, p.Now
	if c.TapPort >= 0 {
		o.Tap = &tap.Options{Host: p.addresses.Host("tap-host", c.TapHost), Port: c.TapPort, Descriptors: p.files.Tap}
		if p.Config.Secure {
			o.Tap.TLS, o.Tap.Login, o.Tap.Still = p.tls.tap, p.tapLogin, p.tapStill
		}
		if err := whenFree(ctx, p.Logger, o.Tap.Host, o.Tap.Port, func() error { return o.Tap.Check(ctx) }); err != nil {
			return node.WithCode(err)
		}
	}
	if p.Node, err = node.Open(ctx, o); err != nil {
		return err
	}
	p.onClose(func() { _ = p.Node.Close() })
	return nil
}

// openChannels opens the channels. Its own ports are the ports on which the program listens now.
func (p *Server) openChannels(ctx context.Context) (err error) {
	own := map[int]string{}
	for name := range p.servers.byName {
		own[portOf(p.servers.address(name))] = name
	}
	if tap, err := url.Parse(p.Node.Store.Tap().URL()); err == nil && tap.Host != "" {
		own[portOf(tap.Host)] = "the tap"
	}
	c := p.Config
	p.Channels, err = channels.Open(ctx, channels.Options{
		Node: p.Node, Secrets: p.secrets, DenyDestinations: c.DenyDestinations, AllowDestinations: c.AllowDestinations, AllowBinds: c.AllowBinds,
		SMTPServer: c.SMTPServer, SMTPSender: c.SMTPSender, Resend: bridge.Resend{Limit: c.ResendLimit, Interval: c.ResendInterval}, OwnPorts: own,
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
		Node: p.Node, Payloads: p.payloads, Remover: p.Remover, Channels: p.Channels, Access: p.access, Authenticator: p.authenticator.Load(),
		Limiter: p.servers.limiter, Keeper: p.tls.keeper, Version: p.Version, Pprof: p.Config.Pprof, Now: p.Now, Logger: p.Logger,
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
