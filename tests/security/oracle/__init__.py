"""An oracle of rights for every address of the site, written without the product's selectors."""
