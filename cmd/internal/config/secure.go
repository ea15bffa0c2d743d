package config

import (
	"slices"

	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/identity"
)

// BindSettings returns the settings of addresses that the program listens on, with the host of each.
func (c *Config) BindSettings() [][2]string {
	var list [][2]string
	for _, one := range services.All {
		host, _ := c.ListenAt(one)
		list = append(list, [2]string{one.Setting + "-host", host})
	}
	if c.NATSPort >= 0 {
		list = append(list, [2]string{"nats-host", c.NATSHost})
	}
	return list
}

// everywhere stands for all addresses of the machine, of both families if it has both.
const everywhere = "0.0.0.0"

// bindEverywhere sets the addresses that nobody has set, if secure is set. source is the result of load.
func (c *Config) bindEverywhere(source map[string]string) {
	if !c.Secure {
		return
	}
	for _, s := range c.BindSettings() {
		if name := s[0]; source[name] == fromDefault {
			_ = c.declared.Lookup(name).Value.Set(everywhere) // any text can be set
			source[name] = fromSecure
		}
	}
}

// LoopbackSecure is the value of loopback by which plain HTTP is refused. Every other value is a role.
const LoopbackSecure = "secure"

func (c *Config) loopbackCure() string {
	switch {
	case c.Loopback == "open":
		return "use loopback=operator"
	case c.Loopback != LoopbackSecure && !slices.Contains(domain.Roles(), domain.Role(c.Loopback)):
		return "use secure, viewer, poster, service, operator, auditor or admin"
	case c.Loopback != LoopbackSecure && !c.Secure:
		return "without secure everything is open anyway; set secure too, or leave it out"
	}
	return ""
}

// needsSecure is how to cure a setting of TLS that has a value.
func (c *Config) needsSecure(value string) string {
	if value != "" && !c.Secure {
		return "there is no TLS without secure; set secure too"
	}
	return ""
}

// issuerCure checks jwt-issuer.
func issuerCure(c *Config) string {
	if c.JWTIssuer == "" {
		return ""
	}
	return textOf(identity.CheckURL(c.JWTIssuer))
}

// audienceCure checks jwt-audience.
func audienceCure(c *Config) string {
	switch {
	case c.JWTIssuer == "" && c.JWTAudience != "":
		return "set jwt-issuer too, to what the JWTs have in their claim iss"
	case c.JWTIssuer != "" && c.JWTAudience == "":
		return "give the audience that the JWTs have in their claim aud: without one, a JWT for any other service would do"
	}
	return ""
}
