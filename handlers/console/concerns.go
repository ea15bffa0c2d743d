package console

import (
	"context"
	"fmt"

	"ledge/domain"
)

// concern is something that needs an operator, with the list that shows exactly that.
type concern struct {
	Path, Text string
	Bad        bool // it is red
}

// The lists that concerns lead to.
const (
	criticalPath = "/notifications?severity=CRITICAL&ack=false"
	failedPath   = "/notifications?delivery=failed&ack=false"
	downPath     = "/devices?state=DOWN"
	silentPath   = "/devices?state=SILENT"
	lockedPath   = "/devices?state=LOCKED"
)

// findConcerns finds the concerns of an operator, the worst first. It needs counters of indexes only, however many devices and
// notifications there are; silent devices are known from a sweep before.
func (s overviewPage) findConcerns(ctx context.Context, d *overviewData, role domain.Role) error {
	add := func(bad bool, path, text string) { d.Concerns = append(d.Concerns, concern{path, text, bad}) }
	count := func(bad bool, n int, path, one, many string) {
		if n == 1 {
			add(bad, path, "1 "+one)
		} else if n > 1 {
			add(bad, path, fmt.Sprint(n, " ", many))
		}
	}
	if d.Verification.Damage != "" {
		path := "/system"
		if role.May(domain.MayAudit) {
			path = "/verify"
		}
		add(true, path, "The verification has found damage: "+d.Verification.Damage)
	}
	for _, trouble := range d.Status.Troubles {
		add(true, "/system", trouble)
	}
	critical, failed, err := s.countNotifications()
	if err != nil {
		return err
	}
	down, locked, err := s.countTroubled()
	if err != nil {
		return err
	}
	silent, err := s.silent.Find(ctx)
	if err != nil {
		return err
	}
	d.Looking = !silent.Known
	count(true, critical, criticalPath, "CRITICAL notification is not acknowledged", "CRITICAL notifications are not acknowledged")
	count(true, failed, failedPath, "notification has a delivery that was given up", "notifications have deliveries that were given up")
	count(true, len(d.Failing)+d.MoreFailing, "#endpoints", "endpoint fails", "endpoints fail")
	count(true, down, downPath, "device is DOWN", "devices are DOWN")
	count(true, len(silent.Devices), silentPath, "device is silent for longer than usual", "devices are silent for longer than usual")
	count(false, locked, lockedPath, "device is LOCKED", "devices are LOCKED")
	return nil
}

// countNotifications counts the notifications that nobody has acknowledged: the CRITICAL ones, and the ones with given-up deliveries.
func (s overviewPage) countNotifications() (critical, failed int, err error) {
	view, done := s.notes()
	defer done()
	for value, n := range map[string]*int{domain.AttentionCriticalOpen: &critical, domain.AttentionFailedOpen: &failed} {
		_, *n, err = view.Lists.Keys(domain.ListNotifications, domain.Page{}, domain.Filter{Index: domain.IndexAttention, Value: value})
		if err != nil {
			return 0, 0, err
		}
	}
	return critical, failed, nil
}

// countTroubled counts the devices that are DOWN, and the devices that are LOCKED.
func (s overviewPage) countTroubled() (down, locked int, err error) {
	view, done := s.state()
	defer done()
	for value, n := range map[string]*int{domain.StateDown: &down, domain.StateLocked: &locked} {
		filter := domain.Filter{Index: domain.IndexState, Value: value}
		if _, *n, err = view.Lists.Keys(domain.ListDevices, domain.Page{}, filter); err != nil {
			return 0, 0, err
		}
	}
	return down, locked, nil
}
