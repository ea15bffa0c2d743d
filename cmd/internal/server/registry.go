package server

import (
	"net"
	"net/netip"
	"strings"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/registry"
	"ledge/cmd/internal/secure"
	"ledge/cmd/internal/services"
)

// newRegistry returns the registry of the services; nil without the setting registry, and with NoDelivery.
func newRegistry(p *Server) *registry.Registry {
	address := config.RegistryAddress(p.Config.Registry)
	if address == "" || p.NoDelivery {
		return nil
	}
	o := registry.Options{Address: address, Token: p.registryToken, Dial: p.Channels.Guard.DialContext, Logger: p.Logger}
	o.IsOther = func(name string) bool { return name == services.DeviceREST && p.Channels.Callbacks.IsCalled(name) }
	var local []string // services that only this machine reaches
	for _, one := range services.REST() {
		host := hostForOthers(p.servers.address(one.Name))
		if host.IsLoopback() {
			local = append(local, one.Name)
		}
		_, port, _ := net.SplitHostPort(p.servers.address(one.Name)) // of a listener: cannot fail
		url := p.servers.scheme() + "://" + net.JoinHostPort(host.String(), port)
		o.Services = append(o.Services, registry.Service{Name: one.Name, URL: url})
	}
	if len(local) > 0 && !isLocal(address) {
		o.Advice = "Consul lists " + strings.Join(local, ", ") + " at a loopback address, which only this machine reaches; " +
			"have them listen on another address, such as --host 0.0.0.0, or use a Consul of this machine"
	}
	return registry.New(o)
}

// startRegistry registers the services in the background. The stop takes them back before they end.
func startRegistry(p *Server) {
	if p.registry != nil {
		p.registry.Start()
		p.onClose(p.registry.Close)
	}
}

// hostForOthers returns the address by which others reach a listener: its own, or if it listens on all addresses one of this machine.
func hostForOthers(listener string) netip.Addr {
	at, err := netip.ParseAddrPort(listener)
	if err != nil || at.Addr().IsUnspecified() {
		return secure.OwnAddress()
	}
	return at.Addr().Unmap().WithZone("")
}

// isLocal reports whether the host of an address is a loopback address.
func isLocal(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
