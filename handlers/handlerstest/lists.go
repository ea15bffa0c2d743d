package handlerstest

import (
	"cmp"
	"maps"
	"slices"

	"ledge/domain"
)

// lists scans and sorts: the slow and simple account of what domain.Lists promises.
type lists struct{ state domain.State }

func (l lists) Profiles(p domain.Page, fs ...domain.Filter) ([]domain.Profile, int, error) {
	return page(l.state.Profiles, p, fs, func(d domain.Profile) (int64, string, map[string][]string) {
		return d.Modified, d.Name, map[string][]string{"label": d.Labels}
	})
}

func (l lists) Services(p domain.Page, fs ...domain.Filter) ([]domain.DeviceService, int, error) {
	return page(l.state.Services, p, fs, func(d domain.DeviceService) (int64, string, map[string][]string) {
		return d.Modified, d.Name, map[string][]string{"label": d.Labels}
	})
}

func (l lists) Devices(p domain.Page, fs ...domain.Filter) ([]domain.Device, int, error) {
	return page(l.state.Devices, p, fs, func(d domain.Device) (int64, string, map[string][]string) {
		return d.Modified, d.Name, map[string][]string{
			"label": d.Labels, "profile": {d.ProfileName}, "service": {d.ServiceName},
		}
	})
}

func (l lists) Subscriptions(p domain.Page, fs ...domain.Filter) ([]domain.Subscription, int, error) {
	return page(l.state.Subscriptions, p, fs, func(d domain.Subscription) (int64, string, map[string][]string) {
		return d.Modified, d.Name, map[string][]string{"label": d.Labels}
	})
}

// page sorts by time, newest first, then by name.
func page[S any](t domain.Table[S], p domain.Page, fs []domain.Filter, of func(S) (int64, string, map[string][]string)) ([]S, int, error) {
	var list []S
	for s := range maps.Values(t.(domain.MapTable[S])) {
		_, _, indexes := of(s)
		if !slices.ContainsFunc(fs, func(f domain.Filter) bool { return !slices.Contains(indexes[f.Index], f.Value) }) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b S) int {
		at, an, _ := of(a)
		bt, bn, _ := of(b)
		return cmp.Or(cmp.Compare(bt, at), cmp.Compare(an, bn))
	})
	n := len(list)
	if p.Offset > 0 && p.Offset >= n {
		return nil, 0, domain.Errorf(domain.OutOfRange, "query objects bounds out of range. length:%d", n)
	}
	return list[p.Offset:min(n, p.Offset+p.Limit)], n, nil
}
