package console

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

const (
	// mostReadingsOffset bounds how far a page of readings is from the newest. Further back a time is to be given.
	mostReadingsOffset = 10_000
	// galleryImages is how many images a page shows, and galleryLook among how many readings they are looked for.
	galleryImages, galleryLook = 48, 1000
)

func (s *Console) readingRoutes() []route {
	return []route{
		{"GET", "/readings", domain.MayRead, s.share(s.showReadings)},
		{"GET", "/readings/:id/value", domain.MayRead, s.serveValue},
	}
}

// readingsData is a list of readings, or the images among them.
type readingsData struct {
	Query   url.Values
	Values  []value
	Total   int
	Offset  int
	Next    int // where the next page begins; 0: nowhere
	Paused  bool
	Gallery bool
	// Looked is how many readings were searched for images.
	Looked int
	Period period
}

// Get returns a filter.
func (d readingsData) Get(name string) string { return d.Query.Get(name) }

// At is the address of the page with a parameter changed.
func (d readingsData) At(name, value string) template.URL {
	return address("/readings", d.Query, name, value)
}

// Page is the address of another page.
func (d readingsData) Page(offset int) template.URL {
	if offset <= 0 {
		return d.At("", "")
	}
	return d.At("offset", strconv.Itoa(offset))
}

// Previous is where the page before begins; negative: nowhere.
func (d readingsData) Previous() int {
	if d.Offset == 0 {
		return -1
	}
	return max(0, d.Offset-pageRows)
}

// Filtered reports whether not all readings are asked for.
func (d readingsData) Filtered() bool {
	return d.Get("device")+d.Get("resource") != "" || d.Period.given()
}

// Live reports whether the page follows new readings: only the first one does.
func (d readingsData) Live() bool { return !d.Paused && d.Offset == 0 && d.Period.To == "" }

func (s *Console) showReadings(c *gin.Context) {
	d := readingsData{Query: filters(c, "device", "resource", "from", "to", "paused", "view"), Period: periodOf(c)}
	d.Paused, d.Gallery = d.Get("paused") == "1", d.Get("view") == "images"
	d.Offset, _ = strconv.Atoi(c.Query("offset"))
	d.Offset = min(max(d.Offset, 0), mostReadingsOffset)
	status := d.Period.status()
	if status == http.StatusOK {
		if err := s.fillReadings(&d, d.filters()); err != nil {
			s.fail(c, err)
			return
		}
	}
	p := Page{Title: "Readings", Data: d}
	if d.Live() && status == http.StatusOK {
		p.Live = "readings"
		if device := d.Get("device"); device != "" {
			p.Live = template.URL("readings=" + url.QueryEscape(device)) //nolint:gosec // escaped
		}
	}
	s.show(c, status, "readings", p)
}

// filters are those of the query.
func (d *readingsData) filters() (all []domain.Filter) {
	device, resource := d.Get("device"), d.Get("resource")
	switch {
	case device != "" && resource != "":
		all = append(all, ofResource(device, resource))
	case device != "":
		all = append(all, domain.Filter{Index: domain.IndexDevice, Value: device})
	case resource != "":
		all = append(all, domain.Filter{Index: domain.IndexResource, Value: resource})
	}
	if d.Period.given() {
		all = append(all, domain.Between(d.Period.first.UnixNano(), d.Period.last.UnixNano()))
	}
	return all
}

// period is the time that a search is about, as entered, with what is wrong.
type period struct {
	From, To, FromWrong, ToWrong string
	first, last                  time.Time
}

func periodOf(c *gin.Context) (p period) {
	p = period{From: filterText(c, "from"), To: filterText(c, "to"), first: time.Unix(0, 0), last: time.Unix(0, math.MaxInt64)}
	if p.From != "" {
		p.first, _, p.FromWrong = readTime(p.From)
	}
	if p.To != "" {
		_, p.last, p.ToWrong = readTime(p.To)
	}
	return p
}

func (p period) given() bool { return p.From+p.To != "" }

// status is that of the page: an error if an end of the period is not a time.
func (p period) status() int {
	if p.FromWrong+p.ToWrong != "" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// readTime returns the first and the last instant of the minute, second or day that a text names, in UTC, or what is wrong.
func readTime(text string) (first, last time.Time, wrong string) {
	for layout, span := range map[string]time.Duration{"2006-01-02T15:04": time.Minute, time.DateOnly + "T" + time.TimeOnly: time.Second, time.RFC3339: 1, time.DateOnly: 24 * time.Hour} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, t.Add(span - 1), ""
		}
	}
	return first, last, "Write the time as 2006-01-02T15:04, in UTC."
}

// fillReadings reads the page.
func (s *Console) fillReadings(d *readingsData, filters []domain.Filter) error {
	limit := pageRows
	if d.Gallery {
		limit = galleryLook
	}
	list, total, err := s.readings(domain.Page{Offset: d.Offset, Limit: limit}, filters...)
	if domain.CodeOf(err) == domain.OutOfRange { // there are fewer by now
		d.Offset = 0
		list, total, err = s.readings(domain.Page{Limit: limit}, filters...)
	}
	if err != nil {
		return err
	}
	d.Total = total
	for _, v := range valuesOf(list) {
		d.Looked++
		if !d.Gallery || v.Kind() == kindImage {
			d.Values = append(d.Values, v)
		}
		if d.Gallery && len(d.Values) == galleryImages {
			break
		}
	}
	if next := d.Offset + d.Looked; next < total && next <= mostReadingsOffset {
		d.Next = next
	}
	return nil
}

// Beyond says that there are more readings than pages go to.
func (d readingsData) Beyond() string {
	if d.Next == 0 && d.Offset+d.Looked < d.Total {
		return fmt.Sprintf("Pages end after %d readings. Choose a time to see earlier ones.", mostReadingsOffset)
	}
	return ""
}
