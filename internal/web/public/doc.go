// Package public is what visitors see: the front page, the wiki, writing, tags, search, feeds, the sitemap and
// attachments. No page needs a script.
//
// Every answer is revalidated before it is shown again, so that what is unpublished is gone at once, and a private
// page answers with the same bytes as a missing one (field case F45): both come from the domain as "not found",
// before anything else about the request is looked at.
package public
