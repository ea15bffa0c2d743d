package config

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/identity"
)

// everywhere stands for all addresses of the machine, of both families if it has both.
const everywhere = "0.0.0.0"

// bindEverywhere sets the addresses that nobody has set, if secure is set. source is the result of load.
func (c *Config) bindEverywhere(source map[string]string) {
	if !c.Secure {
		return
	}
	for _, one := range c.BindSettings() {
		if name := one.Setting; source[name] == fromDefault {
			_ = c.declared.Lookup(name).Value.Set(everywhere) // any text can be set
			source[name] = fromSecure
		}
	}
}

// checkOldHosts refuses a host of an earlier version, in the file or the environment, if the service listens elsewhere now: a host may have
// kept it on this machine.
func checkOldHosts(c *Config) error {
	var errs []error
	for _, one := range services.All {
		name, host := one.Setting+"-host", c.ListenAt(one).Host
		if slices.Contains(c.unused, name) && host != oldDefaults[name] {
			err := fmt.Errorf("%s: there is no setting %q%s", c.file, name, removedSetting(name))
			errs = append(errs, Fault{name, oldDefaults[name], c.file, err})
		}
		if value, set := os.LookupEnv(EnvName(name)); set && host != value {
			err := fmt.Errorf("environment variable %s: there is no setting %q%s", EnvName(name), name, removedSetting(name))
			errs = append(errs, Fault{name, value, EnvName(name), err})
		}
	}
	return errors.Join(errs...)
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
