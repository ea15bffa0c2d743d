package callback

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/outward"
	"ledge/domain"
)

// silence is how long a service that let a validation time out, or whose name has no address, is not asked again, so that a batch of many
// devices waits for it once.
const silence = 5 * time.Second

// ValidateDevice asks a device service whether it takes a device that is to be added or changed. As in EdgeX 2.3 the
// error, which is a Rejected one, says that it does not; a service that does not answer in time, or that knows no
// validation (404), refuses nothing.
func (c *Callbacks) ValidateDevice(ctx context.Context, s domain.DeviceService, d domain.Device, correlation string) error {
	if s.IsBuiltIn(c.Guard.IsOwnURL) || c.isSilent(s.BaseAddress) {
		return nil
	}
	host, _, _ := outward.HostAndPort(s.BaseAddress)
	slot, ok := c.validations.Acquire(ctx, s.Name, host, false)
	if !ok {
		return ctx.Err()
	}
	defer slot.Release()
	if c.isSilent(s.BaseAddress) {
		return nil
	}
	q := request{http.MethodPost, validatePath, "device", d}
	timed, cancel := context.WithTimeout(ctx, c.ValidationTimeout)
	defer cancel()
	a := c.send(timed, s.BaseAddress, q, uuid.NewString(), correlation)
	slot.Answered()
	switch {
	case a.accepted():
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case a.status == http.StatusNotFound: // a service of before EdgeX 2.2
		return nil
	case a.status == 0 || a.status == http.StatusServiceUnavailable:
		c.Logger.Warn("device not validated by its service", "device", d.Name, "service", s.Name, "error", a.String())
		if a.isSilent() {
			c.mute(s.BaseAddress)
		}
		return nil
	default:
		return domain.Errorf(domain.Rejected, "device validation failed -> request failed, %v", a)
	}
}

func (c *Callbacks) isSilent(base string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Now().Before(c.silent[base])
}

// mute has a service not asked for a while. Expired entries go, so that there are no more of them than services.
func (c *Callbacks) mute(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.silent, func(_ string, until time.Time) bool { return !c.Now().Before(until) })
	c.silent[base] = c.Now().Add(silence)
}
