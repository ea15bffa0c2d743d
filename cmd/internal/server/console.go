package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/consolesource"
	"ledge/cmd/internal/services"
	"ledge/handlers"
	"ledge/handlers/console"
)

// newConsole returns the management UI on the services that have started before it.
func newConsole(p *Server, o handlers.Options) http.Handler {
	c := p.Config
	s := consolesource.New(consolesource.Options{
		Node: p.Node, Channels: p.Channels, Meters: p.meters, Identities: p.identities, Verifier: p.verifier, Services: p.servers.handlers(),
		Password: p.authenticator.Load().Password, Settings: func() []console.Setting { return listSettings(p) }, Warnings: p.warnings,
		Ready: func(service string) error { return servingOf(service).ready(p) },
		Limits: func() console.Disk {
			now := p.limits.inForce.Load()
			return console.Disk{
				ReadingsReserve: int64(c.ReadingsReserve()), ChangesReserve: int64(c.DiskReserve),
				ReadingsMax: int64(now.ReadingsMaxBytes), ReadingsAge: now.ReadingsMaxAge,
				NotificationsMax: int64(now.NotificationsMaxBytes), NotificationsAge: now.NotificationsMaxAge,
				Max: int64(c.MaxBytes),
			}
		},
		Retention:  p.limits,
		Refusals:   listRefusals(p),
		Access:     describeAccess(p),
		DeviceREST: p.servers.scheme() + "://" + p.servers.address(services.DeviceREST), TLS: c.Secure, DataDir: c.DataDir,
		NodeName: config.FindNodeName(c), Cookie: cookieOf(p), Version: p.Version, Logger: p.Logger,
	})
	p.onClose(s.Close)
	p.inBackground(s.Run)
	return s.Handler(o)
}

// cookieOf returns the end of the name of the console's cookie. It differs between nodes and between the consoles of one host, also between
// a node and its restored copy.
func cookieOf(p *Server) string {
	sum := sha256.Sum256([]byte(p.Node.Store.Node() + " " + p.servers.address(services.Console)))
	return hex.EncodeToString(sum[:4])
}

// listRefusals returns the refused events of EdgeX's message bus for the console; nil without a bus.
func listRefusals(p *Server) console.Refusals {
	if p.readings == nil {
		return nil
	}
	return func() (newest []console.RefusedEvent, counts map[string]uint64) {
		for _, one := range p.readings.Refused() {
			newest = append(newest, console.RefusedEvent{
				At: one.At.UnixMilli(), Subject: one.Subject, Reason: one.Reason, Message: one.Message, Begin: one.Begin,
			})
		}
		return newest, p.readings.Refusals()
	}
}

// listSettings returns the settings with where their values come from.
func listSettings(p *Server) (all []console.Setting) {
	p.Config.Settings().VisitAll(func(f *pflag.Flag) {
		source := p.Source[f.Name]
		if source == "" {
			source = "default"
		}
		value := f.Value.String()
		if set := p.limits.source(f.Name); set != "" {
			source, value = set, p.limits.inForce.Load().Settings().Lookup(f.Name).Value.String()
		}
		all = append(all, console.Setting{
			Name: f.Name, Value: value, Default: f.DefValue, Source: source, Help: f.Usage, Changed: value != f.DefValue,
		})
	})
	return all
}

// describeAccess tells which clients may use the REST services.
func describeAccess(p *Server) console.Access {
	if p.Config.Secure {
		says := "Secure mode: the REST services need a login, a token or a client certificate."
		if p.Config.Loopback != config.LoopbackSecure {
			says += fmt.Sprintf(" Programs on this machine need none: they have the role %s.", p.Config.Loopback)
		}
		return console.Access{Says: says}
	}
	var open []string
	for _, one := range services.REST() {
		at := p.servers.address(one.Name)
		if a, err := netip.ParseAddrPort(at); err == nil && !a.Addr().Unmap().IsLoopback() {
			open = append(open, one.Name+" at "+at)
		}
	}
	who := "Every program on this machine"
	if len(open) > 0 {
		who = "Everybody who reaches " + strings.Join(open, ", ")
	}
	return console.Access{Open: true, Says: "The API is open: it needs no login. " + who + " may read and change everything."}
}
