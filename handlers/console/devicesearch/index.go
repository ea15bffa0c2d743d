// Package devicesearch finds devices by a part of their names, labels, profiles or services, which the EdgeX API cannot. The console's list of
// devices uses it. The index is in memory, is made at the first search, and follows the log of changes.
package devicesearch

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledge/domain"
	"ledge/domain/history"
	"ledge/handlers/entities"
)

const (
	// mostListed bounds the devices that the index holds, about 400 bytes each: a device with longer texts counts as several. If there are more,
	// it holds those that changed last.
	mostListed, usualText = 250_000, 400
	// idle is how long the index is kept without a query.
	idle = 10 * time.Minute
	// mostBehind is how many events the index reads to catch up; if there are more, it reads all devices again.
	mostBehind = 50_000
	// mostLabels bounds the labels of a device in the index, and mostLabelBytes their texts.
	mostLabels, mostLabelBytes = 64, 4 << 10
	// readTogether is how many devices are read in one look at the state.
	readTogether = 500
)

// Device is what the index knows of a device.
type Device struct {
	Name, Profile, Service     string
	AdminState, OperatingState string
	Labels                     []string
	Left                       int    // labels that are not among Labels, and are not found
	Modified                   int64  // in milliseconds since the Unix epoch
	Revision                   uint64 // the event that made the device as it is
	gone                       bool   // it was removed, and leaves the index with the next sort
	text                       string // that a search looks in, in lower case
}

// Index finds devices by a part of their names, which the API cannot. The first query makes it from the state. Each query first reads
// the events since the query before, so it finds every device of an answered request.
type Index struct {
	state   entities.Reader
	changes Changes

	mu      sync.RWMutex
	loaded  bool
	devices []Device          // by name; new ones are at the end until sort
	sorted  int               // how many of them are in order
	leaving int               // how many of them are gone
	weight  int               // of those that are not gone; mostListed at most
	shared  map[string]string // one copy of each text that several devices have
	total   int               // how many devices there are
	seq     uint64            // of the last event that is in it
	end     *time.Timer       // of an index that is not used
}

// Changes reads the log of changes.
type Changes interface {
	// Last is the sequence of the last event that the state shows.
	Last() uint64
	// Read calls f with the events from one sequence to another, both included.
	Read(ctx context.Context, from, to uint64, f func(domain.Recorded) error) error
}

// New returns an index of the devices in state. Drop ends it.
func New(state entities.Reader, changes Changes) *Index {
	return &Index{state: state, changes: changes}
}

// Drop forgets all devices until the next query.
func (d *Index) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
}

func (d *Index) forget() {
	if d.end != nil {
		d.end.Stop()
	}
	d.loaded, d.devices, d.sorted, d.leaving, d.weight, d.shared, d.total = false, nil, 0, 0, 0, nil, 0
}

// Find returns a page of the devices that a query matches.
func (d *Index) Find(ctx context.Context, q Query) (Result, error) {
	if err := d.refresh(context.WithoutCancel(ctx)); err != nil { // it is of use to the next query too
		return Result{}, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	f := q.search(d.devices)
	f.All, f.Left, f.Seq = d.total, d.total-len(d.devices), d.seq
	return f, nil
}

// IsRemoved reports whether there was a device of a name and it was removed. The index does not have it.
func (d *Index) IsRemoved(name string) bool {
	view, done := d.state()
	defer done()
	return history.LatestOf(view.State, history.Kinds["device"], name).IsRemoved()
}

// refresh brings the index up to the state.
func (d *Index) refresh(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end == nil {
		d.end = time.AfterFunc(idle, d.Drop)
	} else {
		d.end.Reset(idle)
	}
	last := d.changes.Last() // before the state is read, which may be later
	var err error
	switch {
	case !d.loaded || last > d.seq+mostBehind:
		err = d.load(ctx)
	case last > d.seq:
		err = d.catchUp(ctx, last)
	}
	if err != nil {
		d.forget()
		return err
	}
	d.loaded, d.seq = true, last
	return nil
}

// load reads all devices.
func (d *Index) load(ctx context.Context) error {
	names, total, err := d.keys(mostListed)
	if err != nil {
		return err
	}
	d.total = total
	d.devices, d.sorted, d.leaving, d.weight, d.shared = make([]Device, 0, len(names)), 0, 0, 0, map[string]string{}
	return d.read(ctx, names)
}

func (d *Index) keys(most int) ([]string, int, error) {
	view, done := d.state()
	defer done()
	return view.Lists.Keys(domain.ListDevices, domain.Page{Limit: most})
}

// catchUp reads the devices anew that have changed.
func (d *Index) catchUp(ctx context.Context, last uint64) error {
	changed := map[string]bool{}
	err := d.changes.Read(ctx, d.seq+1, last, func(r domain.Recorded) error {
		if s := r.Event.Subject(); len(s) > 1 && s[0] == "device" {
			changed[s[1]] = true
		}
		return nil
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	if _, d.total, err = d.keys(0); err != nil {
		return err
	}
	names := make([]string, 0, len(changed))
	for name := range changed {
		names = append(names, name)
	}
	return d.read(ctx, names)
}

// read puts or removes devices as the state has them now, in short views.
func (d *Index) read(ctx context.Context, names []string) error {
	for some := range slices.Chunk(names, readTogether) {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.readSome(some)
	}
	d.sort()
	return nil
}

// sort merges the new devices into the others, and drops those that are gone.
func (d *Index) sort() {
	added := slices.Clone(d.devices[d.sorted:])
	slices.SortFunc(added, func(a, b Device) int { return byName(&a, &b) })
	old := d.sorted - 1
	for at := len(d.devices) - 1; len(added) > 0; at-- {
		if last := len(added) - 1; old >= 0 && d.devices[old].Name > added[last].Name {
			d.devices[at] = d.devices[old]
			old--
		} else {
			d.devices[at] = added[last]
			added = added[:last]
		}
	}
	if d.leaving > 0 {
		d.devices = slices.DeleteFunc(d.devices, func(l Device) bool { return l.gone })
	}
	d.sorted, d.leaving = len(d.devices), 0
}

func byName(a, b *Device) int { return Natural(a.Name, b.Name) }

// at finds a device among those that are in order.
func (d *Index) at(name string) (i int, known bool) {
	return slices.BinarySearchFunc(d.devices[:d.sorted], name, func(l Device, name string) int { return Natural(l.Name, name) })
}

func (d *Index) readSome(names []string) {
	view, done := d.state()
	defer done()
	for _, name := range names {
		var device domain.Device
		if row := domain.GetWithin(view.State.Devices, name, math.MaxInt, &device); row.OK { // Get would keep all of them
			d.put(device, row.Revision)
		} else {
			d.remove(name)
		}
	}
}

func (d *Index) put(device domain.Device, revision uint64) {
	l := Device{
		Profile: d.share(device.ProfileName), Service: d.share(device.ServiceName), AdminState: d.share(device.AdminState),
		OperatingState: d.share(device.OperatingState), Modified: device.Modified, Revision: revision,
	}
	bytes := 0
	for i, label := range device.Labels {
		if bytes += len(label); i == mostLabels || bytes > mostLabelBytes {
			l.Left = len(device.Labels) - i
			break
		}
		l.Labels = append(l.Labels, d.share(label))
	}
	text := strings.Join(append([]string{device.Name, l.Profile, l.Service}, l.Labels...), "\n")
	l.Name, l.text = text[:len(device.Name)], strings.ToLower(text) // device.Name would keep the whole text of the device in memory
	if i, known := d.at(l.Name); known {
		if old := &d.devices[i]; old.gone {
			d.leaving--
		} else {
			d.weight -= old.weight()
		}
		d.weight += l.weight()
		d.devices[i] = l
	} else if d.weight+l.weight() <= mostListed {
		d.weight += l.weight()
		d.devices = append(d.devices, l)
	}
}

// weight is how many usual devices take as much memory.
func (l *Device) weight() int { return 1 + len(l.text)/usualText }

func (d *Index) share(text string) string {
	if one, known := d.shared[text]; known {
		return one
	}
	if len(d.shared) < mostListed {
		text = strings.Clone(text)
		d.shared[text] = text
	}
	return text
}

func (d *Index) remove(name string) {
	if i, known := d.at(name); known && !d.devices[i].gone {
		d.devices[i].gone = true
		d.leaving++
		d.weight -= d.devices[i].weight()
	}
}

// Query selects devices, their order and a page of them.
type Query struct {
	Filter        Filter
	Sort          string // one of Sorts; with a minus before it the other way round
	After, Before string // a cursor: the name of a device, and, after a dot, its key in the order
	Limit         int
	Only          func(*Device) bool // keeps a device that the filter matches; nil: all
}

// Result is a page of devices.
type Result struct {
	Devices []Device
	// Matched is how many devices match, All how many there are, Left how many of them the index does not hold.
	Matched, All, Left int
	// Seq is the last event that the page surely shows.
	Seq uint64
	// Next and Previous are cursors; empty: there is no such page.
	Next, Previous string
}

// Sorts are the orders of a result.
var Sorts = []string{"name", "changed", "profile", "service", "state"}

func (q *Query) key(l *Device) string {
	switch strings.TrimPrefix(q.Sort, "-") {
	case "changed":
		return strconv.FormatInt(l.Modified, 10)
	case "profile":
		return l.Profile
	case "service":
		return l.Service
	case "state":
		return l.AdminState + "/" + l.OperatingState
	}
	return ""
}

func (q *Query) cursor(l *Device) string { return l.Name + "." + q.key(l) } // no name has a dot

// CursorByName is the cursor of a device in a list that is sorted by name.
func CursorByName(name string) string { return name + "." }

// position is a device as a cursor has it.
func (q *Query) position(cursor string) Device {
	name, key, _ := strings.Cut(cursor, ".")
	admin, operating, _ := strings.Cut(key, "/")
	l := Device{Name: name, Profile: key, Service: key, AdminState: admin, OperatingState: operating}
	l.Modified, _ = strconv.ParseInt(key, 10, 64)
	return l
}

// order compares devices as the page has them. A page that ends at a cursor is searched from its end, in reverse order. down reports
// whether names descend in this order.
func (q *Query) order() (compare func(a, b *Device) int, down bool) {
	sort, down := strings.CutPrefix(q.Sort, "-")
	key := func(*Device, *Device) int { return 0 }
	switch sort {
	case "changed": // the newest first
		key = func(a, b *Device) int { return cmp.Compare(b.Modified, a.Modified) }
	case "profile":
		key = func(a, b *Device) int { return strings.Compare(a.Profile, b.Profile) }
	case "service":
		key = func(a, b *Device) int { return strings.Compare(a.Service, b.Service) }
	case "state":
		key = func(a, b *Device) int {
			return cmp.Or(strings.Compare(a.AdminState, b.AdminState), strings.Compare(a.OperatingState, b.OperatingState))
		}
	}
	up := func(a, b *Device) int {
		if c := key(a, b); c != 0 {
			return c
		}
		return byName(a, b)
	}
	if down != (q.Before != "") {
		return func(a, b *Device) int { return up(b, a) }, true
	}
	return up, false
}

func (q *Query) matchDevice(l *Device) bool {
	return q.Filter.matchDevice(l) && (q.Only == nil || q.Only(l))
}

// search looks at each of the devices, which are sorted by name, once, and holds no more than a page of them.
func (q *Query) search(devices []Device) (f Result) {
	from := q.position(cmp.Or(q.Before, q.After))
	order, down := q.order()
	var page []*Device // one more than is shown
	skipped := false
	for i := range devices {
		l := &devices[i]
		if down { // in the order of the page, if that is by name: then most devices are compared once
			l = &devices[len(devices)-1-i]
		}
		if !q.matchDevice(l) {
			continue
		}
		f.Matched++
		if from.Name != "" && order(l, &from) <= 0 {
			skipped = true
			continue
		}
		if len(page) > q.Limit && order(l, page[q.Limit]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(page, l, order)
		page = slices.Insert(page, at, l)
		page = page[:min(len(page), q.Limit+1)]
	}
	q.fill(&f, page, skipped)
	return f
}

// fill makes the page from the devices found, which are in reverse order if the search began at the end. skipped reports whether there are
// devices on the other side of the cursor.
func (q *Query) fill(f *Result, page []*Device, skipped bool) {
	more := len(page) > q.Limit
	page = page[:min(len(page), q.Limit)]
	if q.Before != "" {
		slices.Reverse(page)
		more, skipped = skipped, more
	}
	for _, l := range page {
		f.Devices = append(f.Devices, *l)
	}
	if len(page) == 0 {
		return
	}
	if more {
		f.Next = q.cursor(page[len(page)-1])
	}
	if skipped {
		f.Previous = q.cursor(page[0])
	}
}
