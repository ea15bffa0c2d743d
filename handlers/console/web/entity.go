package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/entities"
)

// Entity describes the pages of a kind of entity: a list, and a page with a form that adds, shows and changes one. A kind with other pages
// has [Entity.ShowList] only, and no Inputs.
type Entity[S any] struct {
	*Site
	State entities.Reader
	Kind  entities.Kind[S]
	// One names an entity, such as device service. Its plural has an s.
	One string
	// Path is that of the list, such as /services. Its end is the topic of its changes.
	Path string
	// Add is the verb of the page that adds an entity, such as add for /services/+add.
	Add string
	// Empty is shown for an empty list, EmptyAdd after it if the user may change something, and NoMatch in their place for a list with filters.
	Empty, EmptyAdd, NoMatch template.HTML
	// Filters are the indexes by which a list can be filtered; a filter with a label has an input.
	Filters []Option
	// Columns are the fields of an entity in a list after its name, by their names in JSON.
	Columns []Column
	// Cut returns the part of an entity that its row has, and shares no text with the entity; nil: [CutRow].
	Cut func(*S) any

	// Page is the template of the page of one entity, Confirm the end of the question before one is deleted.
	Page, Confirm string
	// Service is the service that is called, API the path of the entities there, and Key the key of an entity in a request.
	Service, API, Key string
	Inputs            Inputs[S]
	// Prepare completes a form before it is shown. s is the entity when its page is opened; else nil.
	Prepare func(c *gin.Context, f *Form, s *S) error
}

// Column is a column of a list. Label is shown in the cells of a narrow window.
type Column struct{ Name, Heading, Label string }

// Columns returns columns from pairs of a name and a heading.
func Columns(pairs ...string) (list []Column) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, Column{Name: pairs[i], Heading: pairs[i+1]})
	}
	return list
}

// listData is a list with its rows, which have the name of an entity and its cells.
type listData struct {
	One, Path, Add, AddLabel string
	Empty, EmptyAdd          template.HTML
	Filters                  []Field
	Columns                  []Column
	Rows                     []listRow
	Span                     int // the number of columns of the table
	Pager                    Pager
}

type listRow struct {
	Name  string
	Cells []listCell
}

type listCell struct {
	Label, Class, State string
	Tags                []string
	Value               any
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (e Entity[S]) addLabel() string { return upperFirst(e.Add) + " a " + e.One }

// ShowList answers with a page of the list.
func (e Entity[S]) ShowList(c *gin.Context) error {
	d := listData{One: e.One, Path: e.Path, Add: e.Add, AddLabel: e.addLabel(), Empty: e.Empty, EmptyAdd: e.EmptyAdd, Columns: e.Columns}
	d.Span = len(d.Columns) + 1
	var filters []domain.Filter
	for _, f := range e.Filters {
		text := FilterText(c, f.Value)
		if text != "" {
			filters = append(filters, domain.Filter{Index: f.Value, Value: text})
		}
		if f.Label != "" {
			d.Filters = append(d.Filters, Field{Name: f.Value, Label: f.Label, Value: text, Type: "text"})
		}
	}
	if len(filters) > 0 && e.NoMatch != "" {
		d.Empty, d.EmptyAdd = e.NoMatch, ""
	}
	rows, total, err := List(e.Memory(c), e.State, e.Kind, domain.Page{Offset: Offset(c), Limit: PageRows}, filters, e.row)
	if err != nil {
		return e.FailList(c, err)
	}
	d.Rows, d.Pager = rows, PagerOf(c, total, len(rows))
	p := Page{Title: upperFirst(e.One) + "s", Live: template.URL(e.Path[1:]), Data: d} //nolint:gosec // a path of the site
	return e.Show(c, http.StatusOK, "list", p)
}

// row returns the row of an entity.
func (e Entity[S]) row(s *S) listRow {
	var cut any
	if e.Cut != nil {
		cut = e.Cut(s)
	} else {
		cut = CutRow(s)
	}
	row := listRow{Name: fmt.Sprint(fieldOf(cut, "name"))}
	for _, column := range e.Columns {
		cell := listCell{Label: column.Label}
		switch value := fieldOf(cut, column.Name).(type) {
		case []string:
			cell.Tags = value
		case int64: // a time
			cell.Class, cell.Value = "quiet", showTime(value)
		default:
			cell.Value = value
		}
		if column.Name == "adminState" {
			cell = listCell{State: fmt.Sprint(cell.Value)}
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// Routes are the routes of the pages. No entity can have a name with a plus sign.
func (e Entity[S]) Routes() []Route {
	one := e.Path + "/:name"
	return []Route{
		Get(e.Path, domain.MayRead, e.Share(e.ShowList)),
		Get(e.Path+"/+"+e.Add, domain.MayChange, func(c *gin.Context) error { return e.showForm(c, http.StatusOK, "", e.Inputs.Blank(), nil) }),
		Post(e.Path+"/+"+e.Add, domain.MayChange, func(c *gin.Context) error { return e.save(c, http.MethodPost, "", "added") }),
		Get(one, domain.MayRead, e.showEntity),
		Post(one, domain.MayChange, func(c *gin.Context) error { return e.save(c, http.MethodPatch, c.Param("name"), "changed") }),
		Post(one+"/delete", domain.MayChange, e.remove),
	}
}

func (e Entity[S]) showEntity(c *gin.Context) error {
	name := c.Param("name")
	s, row, err := ReadForm(e.Memory(c), e.State, e.Kind.Table, e.One, name, APIPath(e.API+"/name/", name))
	if err != nil {
		return err
	}
	return e.showForm(c, http.StatusOK, "", e.Inputs.FormOf(&s, name, row.Revision), &s)
}

func (e Entity[S]) showForm(c *gin.Context, status int, message string, f *Form, s *S) error {
	title := e.addLabel()
	if !f.New() {
		title = upperFirst(e.One) + " " + f.Old
	}
	f.Path, f.One, f.Confirm = e.Path, e.One, e.Confirm
	e.Inputs.Show(f)
	if err := e.Prepare(c, f, s); err != nil {
		return err
	}
	return e.Show(c, status, e.Page, Page{Title: title, Message: message, Data: f})
}

func (e Entity[S]) save(c *gin.Context, method, old, verb string) error {
	f := e.Inputs.Read(c, old)
	fields := e.Inputs.Values(f, nil)
	if len(f.Problems) > 0 {
		return e.showForm(c, http.StatusUnprocessableEntity, f.RefuseProblems(e.Inputs.Labels()), f, nil)
	}
	a := e.ChangeOne(c, e.Service, method, API+"/"+e.API, e.Key, fields, f.Revision)
	if !a.OK() {
		return e.showForm(c, a.Status, f.Refuse(a, e.Inputs.Labels()), f, nil)
	}
	return e.Done(c, e.Path+"/"+url.PathEscape(f.Texts["name"]), "The %s is %s.", e.One, verb)
}

func (e Entity[S]) remove(c *gin.Context) error {
	a := e.Call(c, e.Service, http.MethodDelete, APIPath(e.API+"/name/", c.Param("name")), nil)
	return e.Finish(c, a, e.Path, "The %s %s is deleted.", e.One, c.Param("name"))
}
