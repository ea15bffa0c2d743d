package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

const (
	// mostReadingsOffset bounds how far a page of readings is from the newest. Further back a time is to be given.
	mostReadingsOffset = 10_000
	// galleryImages is how many images a page shows, and galleryLook among how many readings they are looked for.
	galleryImages, galleryLook = 48, 1000
)

// readingPages are the list of readings, and their values.
type readingPages struct {
	values
	refusals Refusals
}

func (s readingPages) Routes() []web.Route {
	return []web.Route{
		web.Get("/readings", domain.MayRead, s.Share(s.showReadings)),
		web.Get("/readings/:id/value", domain.MayRead, s.serveValue),
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
	Looked  int
	Period  web.Period
	Refused uint64 // events since the start
}

// Get returns a filter.
func (d readingsData) Get(name string) string { return d.Query.Get(name) }

// At is the address of the page with a parameter changed.
func (d readingsData) At(name, value string) template.URL {
	return web.Address("/readings", d.Query, name, value)
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
	return max(0, d.Offset-web.PageRows)
}

// Filtered reports whether not all readings are asked for.
func (d readingsData) Filtered() bool {
	return d.Get("device")+d.Get("resource") != "" || d.Period.Given()
}

// Live reports whether the page follows new readings: only the first one does.
func (d readingsData) Live() bool { return !d.Paused && d.Offset == 0 && d.Period.To == "" }

func (s readingPages) showReadings(c *gin.Context) error {
	d := readingsData{Query: web.Filters(c, "device", "resource", "from", "to", "paused", "view"), Period: web.PeriodOf(c)}
	d.Refused = s.refusals.count()
	d.Paused, d.Gallery = d.Get("paused") == "1", d.Get("view") == "images"
	d.Offset, _ = strconv.Atoi(c.Query("offset"))
	d.Offset = min(max(d.Offset, 0), mostReadingsOffset)
	status := d.Period.Status()
	if status == http.StatusOK {
		if err := s.fillReadings(&d, d.filters()); err != nil {
			return err
		}
	}
	p := web.Page{Title: "Readings", Data: d}
	if d.Live() && status == http.StatusOK {
		p.Live = "readings"
		if device := d.Get("device"); device != "" {
			p.Live = template.URL("readings=" + url.QueryEscape(device)) //nolint:gosec // escaped
		}
	}
	return s.Show(c, status, "readings", p)
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
	if d.Period.Given() {
		all = append(all, domain.Between(d.Period.First.UnixNano(), d.Period.Last.UnixNano()))
	}
	return all
}

// fillReadings reads the page.
func (s readingPages) fillReadings(d *readingsData, filters []domain.Filter) error {
	limit := web.PageRows
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
