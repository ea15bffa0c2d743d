package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/bodies"
	"ledge/handlers/console/profileyaml"
)

func (s *Console) profileRoutes() []route {
	return []route{
		{"GET", "/profiles", domain.MayRead, s.share(s.profiles)},
		{"GET", "/profiles/+upload", domain.MayChange, s.showUpload},
		{"POST", "/profiles/+upload", domain.MayChange, s.uploadProfile},
		{"GET", "/profiles/:name", domain.MayRead, s.share(s.profile)},
		{"GET", "/profiles/:name/edit", domain.MayChange, s.showEditProfile},
		{"POST", "/profiles/:name/edit", domain.MayChange, s.editProfile},
		{"POST", "/profiles/:name/delete", domain.MayChange, s.deleteProfile},
	}
}

type profilesData struct {
	Profiles                   []profileRow
	Pager                      listPager
	Label, Manufacturer, Model string
}

// profileRow is a profile in the list, without its resources and commands.
type profileRow struct {
	domain.Profile
	Resources int
}

func rowOfProfile(p *domain.Profile) (row profileRow) {
	row.Resources = len(p.DeviceResources)
	p.DeviceResources, p.DeviceCommands = nil, nil
	row.Profile = cutRow(p)
	return row
}

func (s *Console) profiles(c *gin.Context) {
	list, total, err := list(s.memory(c), s.State, profileKind, domain.Page{Offset: offset(c), Limit: pageRows},
		indexFilters(c, domain.IndexLabel, domain.IndexManufacturer, domain.IndexModel), rowOfProfile)
	if err != nil {
		s.failList(c, err)
		return
	}
	s.show(c, http.StatusOK, "profiles", Page{Title: "Profiles", Live: "profiles", Data: profilesData{
		list, pagerOf(c, total, len(list)), filterText(c, domain.IndexLabel), filterText(c, domain.IndexManufacturer), filterText(c, domain.IndexModel),
	}})
}

const (
	// mostShown is how many resources of a profile a page shows. A profile with more cannot be edited on a page.
	mostShown = 2000
	// mostYAML bounds the YAML of a profile below its resources, in bytes, and mostTexts the texts of the resources.
	mostYAML, mostTexts = 1 << 20, 512 << 10
)

type profileData struct {
	Profile                   domain.Profile
	Resources                 []domain.DeviceResource // the first ones
	Count                     int                     // of all resources
	YAML                      string                  // empty if there are more, or it is too large for the page
	Devices, Watchers         []string
	DeviceCount, WatcherCount int
}

func (s *Console) profile(c *gin.Context) { s.showProfile(c, http.StatusOK, "") }

func (s *Console) showProfile(c *gin.Context, status int, message string) {
	d, _, err := s.readProfile(c, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
	}
	k := &cutter{entries: mostShown, text: shownText, room: mostTexts}
	if d.Profile = cutWith(k, &d.Profile); len(d.YAML) > mostYAML {
		d.YAML = ""
	}
	d.Resources = d.Profile.DeviceResources
	s.show(c, status, "profile", Page{
		Title: "Profile " + d.Profile.Name, Live: "profiles&devices&watchers", Message: message, Data: d,
		Left: k.note(apiPath("deviceprofile/name/", d.Profile.Name)),
	})
}

// mostEncoded bounds the memory of a profile's YAML while it is made, in bytes.
const mostEncoded = 96 << 20

// readProfile returns a profile, its revision, what uses it, and its YAML unless that is too large.
func (s *Console) readProfile(c *gin.Context, name string) (d profileData, revision uint64, err error) {
	m := s.memory(c)
	p, row, err := read(m, s.State, profileKind.Table, "profile", name)
	if err == nil {
		d.Profile, d.Count = p, len(p.DeviceResources)
		err = s.findUsers(&d)
	}
	if n := profileyaml.Bytes(p); err == nil && d.Count <= mostShown && n <= mostEncoded {
		if err = m.Hold(n + int64(row.Size)); err == nil {
			d.YAML, err = profileyaml.Encode(p)
		}
	}
	return d, row.Revision, err
}

// findUsers finds the devices and provision watchers that use a profile.
func (s *Console) findUsers(d *profileData) (err error) {
	view, done := s.State()
	defer done()
	by := domain.Filter{Index: domain.IndexProfile, Value: d.Profile.Name}
	if d.Devices, d.DeviceCount, err = view.Lists.Keys(domain.ListDevices, domain.Page{Limit: pageRows}, by); err != nil {
		return err
	}
	d.Watchers, d.WatcherCount, err = view.Lists.Keys(domain.ListWatchers, domain.Page{Limit: pageRows}, by)
	return err
}

// profileForm is the text of a profile while it is added or edited. Name is empty for a new one.
type profileForm struct {
	Name, YAML, Revision string
	Faults               []profileyaml.Fault
}

func (s *Console) showUpload(c *gin.Context) {
	s.show(c, http.StatusOK, "profile_form", Page{Title: "Upload a profile", Data: profileForm{}})
}

// uploadProfile takes a file, or the text of the form if there is no file.
func (s *Console) uploadProfile(c *gin.Context) {
	form, err := s.readUpload(c, "yaml", s.UploadBytes)
	if err != nil {
		s.fail(c, err)
		return
	}
	memory := s.bodies.EntryMemory(c)
	defer memory.Release()
	a := s.sendProfile(c, http.MethodPost, form.Text, "")
	if !a.ok() {
		s.refuseProfile(c, "Upload a profile", a, form.Text, profileForm{}, memory)
		return
	}
	to := "/profiles"
	if name := profileyaml.Name(form.Text, s.UploadBytes, memory.HoldBytes); name != "" {
		to += "/" + name
	}
	s.done(c, to, "%s", strings.TrimSpace("The profile is uploaded. "+ignoredKeys(a)))
}

// refuseProfile shows a form again whose text the service has refused.
func (s *Console) refuseProfile(c *gin.Context, title string, a answer, text []byte, form profileForm, memory *bodies.EntryMemory) {
	var ok bool
	if form.YAML, ok = repeat(text, memory); !ok {
		a.Message = sentence(a.Message) + " " + tooLongToRepeat
	}
	form.Faults = profileyaml.Faults(text, a.Message, s.UploadBytes, memory.HoldBytes)
	s.show(c, a.Status, "profile_form", Page{Title: title, Message: a.Message, Data: form})
}

// sendProfile uploads the text as the file of a multipart form, as any client does.
func (s *Console) sendProfile(c *gin.Context, method string, text []byte, revision string) answer {
	var body bytes.Buffer
	body.Grow(len(text) + bytes.MinRead)
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "profile.yaml")
	if err == nil {
		_, err = part.Write(text)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return answer{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	header := append(ifMatch(revision), "Content-Type", form.FormDataContentType())
	return changedMeanwhile(s.call(c, metadataService, method, api+"/deviceprofile/uploadfile", &body, header...))
}

func (s *Console) showEditProfile(c *gin.Context) {
	d, revision, err := s.readProfile(c, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
	}
	if d.YAML == "" {
		s.showProfile(c, http.StatusUnprocessableEntity, fmt.Sprintf("A profile with more than %d resources, or with very many attributes, cannot be edited here. "+
			"Upload it again with PUT %s/deviceprofile/uploadfile.", mostShown, api))
		return
	}
	s.show(c, http.StatusOK, "profile_form", Page{Title: "Edit profile " + d.Profile.Name, Data: profileForm{
		Name: d.Profile.Name, YAML: d.YAML, Revision: strconv.FormatUint(revision, 10),
	}})
}

func (s *Console) editProfile(c *gin.Context) {
	sent, err := s.readUpload(c, "yaml", s.UploadBytes)
	if err != nil {
		s.fail(c, err)
		return
	}
	form := profileForm{Name: c.Param("name"), Revision: sent.fields["revision"]}
	memory := s.bodies.EntryMemory(c)
	defer memory.Release()
	a := answer{Status: http.StatusUnprocessableEntity}
	if name := profileyaml.Name(sent.Text, s.UploadBytes, memory.HoldBytes); name != "" && name != form.Name {
		a.Message = "The name of a profile cannot be changed. Upload a new profile, or restore the name " + form.Name + "."
	} else {
		a = s.sendProfile(c, http.MethodPut, sent.Text, form.Revision)
	}
	if !a.ok() {
		s.refuseProfile(c, "Edit profile "+form.Name, a, sent.Text, form, memory)
		return
	}
	s.done(c, "/profiles/"+form.Name, "%s", strings.TrimSpace("The profile is changed. "+ignoredKeys(a)))
}

// ignoredKeys is the sentence about the keys of a profile that were ignored; "" if there are none.
func ignoredKeys(a answer) string {
	var e handlers.Envelope
	if json.Unmarshal(a.Body, &e) != nil || e.Message == "" {
		return ""
	}
	return strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."
}

// deleteProfile shows the profile again after a refusal; the page shows its users.
func (s *Console) deleteProfile(c *gin.Context) {
	a := s.call(c, metadataService, http.MethodDelete, apiPath("deviceprofile/name/", c.Param("name")), nil)
	if !a.ok() && a.Status != http.StatusNotFound {
		s.showProfile(c, a.Status, a.Message)
		return
	}
	s.finish(c, a, "/profiles", "The profile %s is deleted.", c.Param("name"))
}
