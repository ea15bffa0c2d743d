package secure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
)

// lookupTime is how long a start waits for the address of one host name.
const lookupTime = 5 * time.Second

// Addresses are the IP addresses that are listened on, by the setting of each.
type Addresses map[string]netip.Addr

// Host returns the address of a setting, or the host in it if no address was found.
func (a Addresses) Host(setting, host string) string {
	if ip, ok := a[setting]; ok {
		return ip.String()
	}
	return host
}

// FindAddresses finds the IP address to listen on for each setting with a host. Unless open is set, it refuses addresses that other
// machines can reach, because nobody has to log in there.
func FindAddresses(ctx context.Context, settings []config.Address, open bool) (Addresses, error) {
	all := Addresses{}
	type answer struct {
		ip  netip.Addr
		err error
	}
	found := map[string]answer{} // by host: services mostly share one
	var errs []error
	code := exit.Usage
	for _, s := range settings {
		setting, host := s.Setting, s.Host
		a, known := found[host]
		if !known {
			a.ip, a.err = lookUp(ctx, net.DefaultResolver, lookupTime, host)
			found[host] = a
		}
		if a.err != nil {
			code = exit.Port
			errs = append(errs, config.Fault{Setting: setting, Value: s.Value, Err: fmt.Errorf("setting %s: %w", setting, a.err)})
			continue
		}
		ip := a.ip
		all[setting] = ip
		if !ip.Unmap().IsLoopback() && !open {
			const says = "setting %s: %s can be reached from other machines, and no login protects it; set secure for TLS and a login; " +
				"or use a loopback address such as 127.0.0.1 behind a tunnel or a reverse proxy with both, or set allow-insecure"
			err := fmt.Errorf(says, setting, describe(host, ip))
			errs = append(errs, config.Fault{Setting: setting, Value: s.Value, Err: err})
		}
	}
	if len(errs) > 0 {
		return nil, exit.With(code, errors.Join(errs...))
	}
	return all, nil
}

// lookUp returns the IP address of a host, as net.Listen chooses it: the first one of IPv4, else the first one. localhost is
// 127.0.0.1, whatever a name server says.
func lookUp(ctx context.Context, resolver *net.Resolver, limit time.Duration, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip, nil
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ips, err := resolver.LookupNetIP(limited, "ip", host)
	if ctx.Err() != nil {
		return netip.Addr{}, ctx.Err()
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("the host name %q has no address: %w; use an IP address, or a name that is known", host, err)
	}
	i := slices.IndexFunc(ips, func(ip netip.Addr) bool { return ip.Unmap().Is4() })
	return ips[max(i, 0)].Unmap(), nil // at least one without an error
}

// describe returns a host as a setting has it, with its address if that is another text.
func describe(host string, ip netip.Addr) string {
	if host == ip.String() {
		return host
	}
	return fmt.Sprintf("%q (%s)", host, ip)
}
